"""MCP servers of others: their tools, pinned by the user, as tools of a runtime."""
