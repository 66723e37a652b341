"""The wire formats of model providers, without I/O: requests, streams, checks of conversations."""
