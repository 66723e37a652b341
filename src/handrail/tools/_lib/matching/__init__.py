"""Where a change belongs in a file, strict readings first; one core for edits and patches."""
