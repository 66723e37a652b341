"""Events for open pages: those of tasks that run here at once, changes by other processes soon after."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from anyio import to_thread

from handrail.core.events import Event
from handrail.core.text.safe_text import safe_text

# A page that does not read for so many events is asked to load again.
_MAX_WAITING: Final = 500
_LOOK_S: Final = 0.4
# Comments keep a connection open that proxies would take for dead.
_KEEP_ALIVE_S: Final = 15.0

Look = Callable[[], Mapping[str, Hashable]]


class EventHub:
    """Hands events to pages. `look` returns a value for each thing that other processes may change;
    it is called in a thread while a page is open.
    """

    def __init__(self, look: Look) -> None:
        self._look = look
        self._pages: dict[asyncio.Queue[str | None], str | None] = {}
        self._watch: asyncio.Task[None] | None = None

    def publish(self, session: str, event: Event) -> None:
        """Send an event of a task to the pages of its session."""
        self._send(page_event(event), session)

    def notify(self, kind: str) -> None:
        """Tell every page that something has changed."""
        self._send({"type": kind}, None)

    def _send(self, event: Mapping[str, Any], session: str | None) -> None:
        line = json.dumps(event, ensure_ascii=True)
        for waiting, wanted in self._pages.items():
            if session is not None and wanted not in (None, session):
                continue
            if waiting.qsize() < _MAX_WAITING:
                waiting.put_nowait(line)
            elif waiting.qsize() == _MAX_WAITING:
                waiting.put_nowait('{"type": "reload"}')

    async def stream(self, session: str | None) -> AsyncIterator[str]:
        """The events of a session, None: of all, in the format of an event stream."""
        with self._subscribe(session) as waiting:
            yield "retry: 1000\n\n"
            while True:
                try:
                    # Not `wait_for`: before Python 3.12 it starts a task, and the event comes later.
                    async with asyncio.timeout(_KEEP_ALIVE_S):
                        line = await waiting.get()
                except TimeoutError:
                    yield ": waiting\n\n"
                else:
                    if line is None:
                        return
                    yield f"data: {line}\n\n"

    @contextmanager
    def _subscribe(self, session: str | None) -> Iterator[asyncio.Queue[str | None]]:
        waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._pages[waiting] = session
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_others())
        try:
            yield waiting
        finally:
            del self._pages[waiting]

    async def _watch_others(self) -> None:
        """Report what changes, as long as a page is open."""
        known: Mapping[str, Hashable] | None = None
        try:
            while self._pages:
                found = await to_thread.run_sync(self._look)
                for kind, value in found.items():
                    if known is not None and value != known.get(kind):
                        self.notify(kind)
                known = found
                await asyncio.sleep(_LOOK_S)
        finally:
            self._watch = None

    def end_streams(self) -> None:
        """Let every page know that the server ends."""
        for waiting in self._pages:
            waiting.put_nowait(None)

    async def aclose(self) -> None:
        """End the watch."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])


def page_event(event: Event) -> dict[str, Any]:
    """What a page needs of an event; text of the main agent is safe to show."""
    found: dict[str, Any] = {"type": event.type}
    if event.type == "model_text":
        given = event.to_dict()
        found["text"] = safe_text(str(given["text"])) if given["agent"] == "main" else ""
    return found
