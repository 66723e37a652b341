"""Handrail behind any MCP client: sessions, approvals through the client, stdio and HTTP.

Importing this package needs the extra `mcp`; nothing below the command line imports it.
"""
