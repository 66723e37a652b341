"""From a syntax tree to the flat list of programs that a command starts."""
