"""Tools about the session: plan mode, path locks, undo, history."""
