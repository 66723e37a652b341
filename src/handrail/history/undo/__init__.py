"""Undo and redo: selecting the changes, and planning how to revert them."""
