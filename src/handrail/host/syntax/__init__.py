"""Syntax checks of changed files: one small module per language, and one that compares errors."""
