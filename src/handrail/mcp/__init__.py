"""Model Context Protocol. Importing it needs the extra `mcp`."""
