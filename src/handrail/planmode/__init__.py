"""Plan mode as data: queued calls and the approval that a user gave to them."""
