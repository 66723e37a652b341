"""Tools made from plain Python functions."""
