"""The first half of a call: parse, validate, resolve paths, determine the footprint."""
