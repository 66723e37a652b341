"""Serving until the client goes away: one session over standard input and output."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from handrail.mcp.server.config import Offer
from handrail.mcp.server.session import Session
from handrail.mcp.server.stdio import stdio
from handrail.mcp.server.tool_server import ToolServer


async def serve_stdio(offer: Offer) -> None:
    """Serve one client; returns when it closes its end or we are told to end."""
    session = Session(offer, own_ids=True)
    server = ToolServer(lambda ctx: session)
    try:
        with anyio.CancelScope() as scope, ending(scope.cancel):
            async with stdio() as (incoming, outgoing):
                await server.sdk.run(incoming, outgoing, server.sdk.create_initialization_options())
    finally:
        await session.aclose()


@contextmanager
def ending(stop: Callable[[], None]) -> Iterator[None]:
    """Signals that ask us to end call `stop`, so that everything is cleaned up."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    for one in signals:
        loop.add_signal_handler(one, stop)
    try:
        yield
    finally:
        for one in signals:
            loop.remove_signal_handler(one)
