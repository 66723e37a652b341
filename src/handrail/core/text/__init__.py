"""Text and bytes as values: encodings, globs, columns, redaction."""
