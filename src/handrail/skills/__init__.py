"""Skills: loading them by the rules of agentskills, trust, and tools from templates."""
