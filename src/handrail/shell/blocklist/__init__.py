"""Commands that are refused in every mode, one module per kind of damage."""
