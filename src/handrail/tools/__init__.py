"""The built-in tools, one module each, with the description for the model in a .md file beside it."""
