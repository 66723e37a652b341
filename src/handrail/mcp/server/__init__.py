"""The MCP server behind `handrail serve`: sessions, approvals, stdio and HTTP."""
