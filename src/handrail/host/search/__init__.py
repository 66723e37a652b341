"""Ignore-aware search: ripgrep through the one spawn door, or pure Python."""
