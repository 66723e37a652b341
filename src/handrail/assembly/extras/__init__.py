"""Builds services that need optional packages; nothing here is loaded before its first use."""
