"""Commands that read, undo, check or shrink the record."""
