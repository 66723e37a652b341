"""Responses of model providers: their tool calls, why they ended, and the messages that answer them."""
