"""Copies of what commands may change, made before they do: exact, private, within a quota."""
