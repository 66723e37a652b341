"""The command line: the parser, one file per command, and what prints."""
