"""Read denials on disk: which denied paths exist, under which names and inodes, and what a search skips."""
