"""The command line: the parser, one module per command, and rendering."""
