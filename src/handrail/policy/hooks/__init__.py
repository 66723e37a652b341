"""Programs that are run around calls: what is configured, whom it concerns, what was said."""
