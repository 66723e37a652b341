"""Searches that respect ignore files: by ripgrep through `processes.spawn`, or in pure Python."""
