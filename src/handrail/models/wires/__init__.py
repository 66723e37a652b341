"""The wire formats of model providers, without any I/O: requests, streams, checks of conversations."""
