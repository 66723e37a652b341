"""Tools that give access to tools of MCP servers."""
