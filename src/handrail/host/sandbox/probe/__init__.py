"""Measures from inside a confinement which of its properties hold on this machine."""
