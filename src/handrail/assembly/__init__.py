"""Puts a runtime together: one builder per subsystem, each returns a finished value."""
