"""The record of a call: rows, events, results, and results loaded from the store."""
