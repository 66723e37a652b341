"""Hooks around running calls: dispatch, input, execution, and the files that hooks change."""
