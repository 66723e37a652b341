"""The agent loop: a model, a conversation and a runtime work on a task until it is done."""
