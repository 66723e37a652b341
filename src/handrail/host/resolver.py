"""Addresses of host names, as the system resolves them."""

from __future__ import annotations

import asyncio
import socket


async def resolve_addresses(host: str, port: int) -> list[str]:
    """Return every address of a host in order of preference; empty if it has none."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
