"""Read denials on disk: existing denied paths, their inodes, and what a search skips."""
