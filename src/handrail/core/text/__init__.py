"""Text and bytes: encodings, globs, columns, positions, invisible characters."""
