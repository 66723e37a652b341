"""Dialects: one table per vocabulary of tools. The engine uses only canonical names."""
