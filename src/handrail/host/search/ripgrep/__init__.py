"""Searches by ripgrep: command line, output, and a second read where the output is not trusted."""
