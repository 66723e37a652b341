"""Confines the programs of calls: backends, the probe that measures them, protected names."""
