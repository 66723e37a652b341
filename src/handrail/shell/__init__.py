"""What a command line means: syntax tree, effects, classes. Pure: no files, no processes."""
