"""Configured hooks as data: specification, parsing, matching, and the output of their programs."""
