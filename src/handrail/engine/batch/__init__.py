"""Decides which calls run at the same time: order, locks, leases and the loop guard."""
