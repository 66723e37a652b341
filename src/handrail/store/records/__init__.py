"""Reads and writes the tables, one module per kind of record."""
