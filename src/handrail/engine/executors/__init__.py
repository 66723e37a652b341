"""Carries out cleared calls: as a plan of file changes, as a command, or directly."""
