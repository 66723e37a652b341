"""Values and protocols that every other package speaks in; no I/O, imports nothing of ours."""
