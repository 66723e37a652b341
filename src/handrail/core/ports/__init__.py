"""Protocols and values of what is outside the engine: machine, store, processes, models, web."""
