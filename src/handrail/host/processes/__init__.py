"""Starts Handrail's own helper programs with reduced rights, and finds them."""
