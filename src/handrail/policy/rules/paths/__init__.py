"""Path patterns of rules: globs, their index, and the paths that a call touches."""
