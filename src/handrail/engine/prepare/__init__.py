"""The first half of a call: parse, validate, resolve paths, work out the footprint."""
