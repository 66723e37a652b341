"""Ignore-aware search: ripgrep through `processes.spawn`, or pure Python."""
