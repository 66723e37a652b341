"""Staged changes: temporary files, folders and the renames that publish them."""
