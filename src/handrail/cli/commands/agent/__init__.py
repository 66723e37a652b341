"""Commands that let a model work: `run`, and the sessions that it leaves."""
