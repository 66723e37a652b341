"""The commands, one module each, grouped by what they act on."""
