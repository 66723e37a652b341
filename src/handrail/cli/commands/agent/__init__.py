"""Commands that let a model work: `run`, and commands for its sessions."""
