"""Builds a runtime: one builder per subsystem, each returns a finished value."""
