"""The record of a call: rows, events, results, and results read back from the store."""
