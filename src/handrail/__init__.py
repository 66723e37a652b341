"""Handrail: the tool runtime for coding agents."""
