"""Snapshots of the workspace around a command: what changed, with private copies to restore from."""
