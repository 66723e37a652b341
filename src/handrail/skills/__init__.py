"""Skills by the rules of agentskills: loading, trust, and tools that they define."""
