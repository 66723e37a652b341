"""Text and bytes as values: encodings, globs, and columns."""
