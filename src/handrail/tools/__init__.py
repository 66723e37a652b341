"""The built-in tools, one file each, with the prose a model reads beside it."""
