"""Code that several built-in tools share."""
