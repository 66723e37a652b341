"""Finds where a change belongs in a file, exact matches first; used for edits and patches."""
