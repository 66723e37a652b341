"""Events for open pages: those of tasks that run here immediately, changes by other processes soon
after.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from anyio import to_thread

from handrail.core.events import Event
from handrail.core.text.safe_text import safe_text

# A page with this many unread events is asked to reload.
_MAX_WAITING: Final = 500
_LOOK_S: Final = 0.4
# Comments keep a connection open that proxies would consider dead.
_KEEP_ALIVE_S: Final = 15.0

Look = Callable[[], Mapping[str, Hashable]]


class EventHub:
    """Sends events to pages. `look` returns a value for each thing that other processes may change;
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
        """Report to every page that something has changed."""
        self._send({"type": kind}, None)

    def _send(self, event: Mapping[str, Any], session: str | None) -> None:
        line = json.dumps(event, ensure_ascii=True)
        for waiting, followed in self._pages.items():
            if session is not None and followed not in (None, session):
                continue
            if waiting.qsize() < _MAX_WAITING:
                waiting.put_nowait(line)
            elif waiting.qsize() == _MAX_WAITING:
                waiting.put_nowait('{"type": "reload"}')

    async def stream(self, session: str | None) -> AsyncIterator[str]:
        """Yield the events of a session (None: of all) in the format of an event stream."""
        with self._subscribe(session) as waiting:
            yield "retry: 1000\n\n"
            while True:
                try:
                    # Not `wait_for`: before Python 3.12 it starts a task, which delays the event.
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
        """Report changes of other processes, as long as a page is open."""
        last_seen: Mapping[str, Hashable] | None = None
        try:
            while self._pages:
                current = await to_thread.run_sync(self._look)
                for kind, value in current.items():
                    if last_seen is not None and value != last_seen.get(kind):
                        self.notify(kind)
                last_seen = current
                await asyncio.sleep(_LOOK_S)
        finally:
            self._watch = None

    def end_streams(self) -> None:
        """Report to every page that the server ends."""
        for waiting in self._pages:
            waiting.put_nowait(None)

    async def aclose(self) -> None:
        """End the watch."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])


def page_event(event: Event) -> dict[str, Any]:
    """Return what a page needs of an event; text of the main agent is safe to show."""
    fields: dict[str, Any] = {"type": event.type}
    if event.type == "model_text":
        details = event.to_dict()
        fields["text"] = safe_text(str(details["text"])) if details["agent"] == "main" else ""
    return fields
