"""Settings in layers: what may be said where, by whom, and where each value comes from."""
