"""The changes of calls: committing plans, storing old contents, undo, redo and crash recovery."""
