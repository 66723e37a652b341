"""Protocols and values of everything outside the engine: machine, store, processes."""
