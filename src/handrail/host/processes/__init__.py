"""Starting our own helper programs with reduced rights, and finding them."""
