"""Tools that lead to the tools of MCP servers."""
