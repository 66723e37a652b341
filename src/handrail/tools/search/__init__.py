"""Tools that find files by name or content."""
