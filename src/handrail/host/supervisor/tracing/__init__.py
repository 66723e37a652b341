"""Traces which files a program is about to write, without deciding about them."""
