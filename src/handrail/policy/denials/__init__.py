"""Paths that deny rules close to commands and searches."""
