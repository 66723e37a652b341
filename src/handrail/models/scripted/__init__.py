"""Models that answer from a script or a recording, over the real wire formats."""
