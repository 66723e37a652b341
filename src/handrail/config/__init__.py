"""Settings: keyword arguments over one file of the person."""
