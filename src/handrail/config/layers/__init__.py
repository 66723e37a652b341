"""Merging the layers of settings: who may set what, and which value wins."""
