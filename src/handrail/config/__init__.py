"""Settings: their model, the files they come from, their layers, and trust in project files."""
