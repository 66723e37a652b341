"""Confinement of the programs that calls start: backends, the probe that measures them, protected names."""
