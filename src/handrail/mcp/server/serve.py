"""Serves one client over standard input and output."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.session import ClientSession
from handrail.mcp.server.stdio import stdio
from handrail.mcp.server.tool_server import ToolServer


async def serve_stdio(offer: ServerConfig) -> None:
    """Serve one client until it disconnects or a signal stops the server."""
    session = ClientSession(offer, own_ids=True)
    server = ToolServer(lambda ctx: session)
    try:
        with anyio.CancelScope() as scope, stop_on_signal(scope.cancel):
            async with stdio() as (incoming, outgoing):
                await server.sdk.run(incoming, outgoing, server.sdk.create_initialization_options())
    finally:
        await session.aclose()
        await asyncio.to_thread(offer.tidy)


@contextmanager
def stop_on_signal(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on SIGTERM, SIGHUP and SIGINT instead of terminating."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    for one in signals:
        loop.add_signal_handler(one, stop)
    try:
        yield
    finally:
        for one in signals:
            loop.remove_signal_handler(one)
