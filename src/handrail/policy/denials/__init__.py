"""Paths that commands and searches must not read or write because of deny rules."""
