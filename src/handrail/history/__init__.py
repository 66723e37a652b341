"""What calls changed: committing plans, keeping old contents, undo, redo and crash recovery."""
