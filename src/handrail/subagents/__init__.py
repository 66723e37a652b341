"""Subagents: agents that other agents start for a part of their task."""
