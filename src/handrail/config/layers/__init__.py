"""Merging the layers of settings: which layer may set what, and which value takes precedence."""
