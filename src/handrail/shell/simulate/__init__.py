"""Runs a command on values instead of files, to see what its words become."""
