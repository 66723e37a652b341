"""Patches as models write them: lenient about format, strict about meaning."""
