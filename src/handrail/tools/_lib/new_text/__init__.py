"""Refuses new texts that would write what nobody means, where the old text is found exactly."""
