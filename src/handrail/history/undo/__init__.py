"""Undo and redo: which changes are meant, and the plan that reverts them."""
