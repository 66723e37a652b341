"""Git repositories read as files: configuration, index, and whether the history moved."""
