"""Syntax checks of changed files: one small file per language, and one that compares."""
