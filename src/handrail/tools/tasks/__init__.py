"""Tools about the to-do list of a session."""
