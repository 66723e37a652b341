"""The shell parser: from the text of a command to its syntax tree."""
