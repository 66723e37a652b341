"""Models that say what a script or a recording holds, over the real wire formats."""
