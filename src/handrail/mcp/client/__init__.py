"""The client of MCP servers: their tools, approved by the user, as tools of a runtime."""
