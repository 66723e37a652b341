"""Deadlines, heartbeats, retries, and work in threads that must not be interrupted."""
