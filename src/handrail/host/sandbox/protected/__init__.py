"""Protected names around a command: recorded before it runs, restored after it has run."""
