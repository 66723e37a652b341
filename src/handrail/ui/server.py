"""Serves the page of a workspace on loopback until a signal ends it."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from handrail.assembly.extras.record_reader import RecordReader
from handrail.core.ports.processes import Processes
from handrail.host.http_serving import serve_app
from handrail.host.state.state_paths import StatePaths
from handrail.ui.access import BrowserAccess
from handrail.ui.app import PageApp, PageReports
from handrail.ui.conversations import ConversationServices, PageConversations
from handrail.ui.event_stream import EventHub
from handrail.ui.page_actions import PageActions


class PageSource(NamedTuple):
    """What the page shows and works with."""

    root: Path
    directories: Sequence[str]
    home: StatePaths
    processes: Processes
    conversations: ConversationServices
    reports: PageReports


class PageServer:
    """The page of one workspace as an ASGI application, with the tasks that were started in it.
    `host` is the Host header of this server.
    """

    def __init__(self, source: PageSource, host: str) -> None:
        self._record = record = RecordReader(source.root, source.directories, source.home)
        actions = PageActions(source.root, source.conversations.open_runtime, source.processes)

        def look() -> Mapping[str, Hashable]:
            waiting = tuple(question.id for question in actions.list_questions())
            return {"record": record.stamp(), "questions": waiting}

        self._hub = EventHub(look)
        self._conversations = PageConversations(source.conversations, self._hub.publish)
        app = PageApp(
            str(source.root), record, self._conversations, actions, self._hub, source.reports
        )
        self.access = BrowserAccess(app.build(), host)

    def end_streams(self) -> None:
        """Report to open pages that the server ends."""
        self._hub.end_streams()

    async def aclose(self) -> None:
        """End the running tasks."""
        await self._conversations.aclose()
        await self._hub.aclose()
        self._record.close()


async def serve_page(
    source: PageSource, listening: socket.socket, announce: Callable[[str], None]
) -> None:
    """Serve the page; `announce` gets the address to open, which works once."""
    # A separate name: the cookie of 127.0.0.1 would be sent to every server on this machine.
    port = listening.getsockname()[1]
    host = f"handrail-{secrets.token_hex(8)}.localhost:{port}"
    server = PageServer(source, host)
    announce(f"http://{host}{server.access.login_path}")
    try:
        await serve_app(server.access, listening, server.end_streams)
    finally:
        await server.aclose()
