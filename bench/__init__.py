"""Figures beside their limits and two peers, as ratios of one run."""
