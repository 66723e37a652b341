"""Measurements beside their limits and two peers, as ratios within one run."""
