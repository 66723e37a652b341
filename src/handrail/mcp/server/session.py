"""One client on one workspace: a runtime of its own, opened when it is first needed, and the
calls in flight. When the client goes, all of it goes.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server.session import ServerSession
from mcp_types import LoggingLevel

from handrail.core.call_ids import safe_call_id
from handrail.core.events import Event, ToolRegistered, ToolUnregistered
from handrail.core.results import ToolResult
from handrail.mcp.server.config import Offer, limit
from handrail.mcp.server.elicitation import ClientApprover
from handrail.mcp.server.pending import Pending

if TYPE_CHECKING:
    from handrail.engine.runtime import Runtime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types import ListRootsRequest, ListRootsResult
from pydantic import ValidationError

# Beyond this a client does not wait for its calls, it floods.
MOST_CALLS: Final = 1000
_MOST_STATES: Final = 256
_CLOSING_S: Final = 60.0


class Session:
    """What belongs to one client. `own_ids`: the ids of its requests are its own, so that a
    repeated one is the same call; without a connection of its own they mean nothing.
    """

    def __init__(self, offer: Offer, *, own_ids: bool) -> None:
        self.offer = offer
        self.approver = ClientApprover(offer.fallback)
        # Until the client says otherwise; the newer protocol asks with every request instead.
        self.level: LoggingLevel = "warning"
        self.client: ServerSession | None = None
        self.on_tools_changed: Callable[[], Awaitable[None]] | None = None
        self._nonce = os.urandom(4).hex()
        self._own_ids = own_ids
        self._runtime: Runtime | None = None
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._in_flight: dict[str, Pending] = {}
        self._parked: OrderedDict[str, Pending] = OrderedDict()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether anything of this client is under way."""
        return bool(self._tasks)

    @property
    def crowded(self) -> bool:
        """Whether no further call is taken."""
        return len(self._tasks) >= MOST_CALLS

    async def runtime(self, roots: Callable[[], Awaitable[Sequence[str]]]) -> Runtime:
        """The runtime; opened at the first need, with the roots that the client then names.

        Raises `ProblemRaised` if it cannot be opened; the next need tries again.
        """
        # Taken even where it is open already: calls that wait here must not be overtaken.
        async with self._opening:
            if self._runtime is None:
                self._runtime = await self._open(await roots())
        return self._runtime

    async def _open(self, roots: Sequence[str]) -> Runtime:
        offer = self.offer
        opening = offer.open(approver=self.approver, directories=roots, session=offer.session)
        runtime = await opening
        try:
            limit(runtime, offer)
            offer.ready(runtime)
            self._loop = asyncio.get_running_loop()
            runtime.subscribe(self._heard)
        except BaseException:
            await runtime.aclose()
            raise
        if self._closed:
            await runtime.aclose()
        return runtime

    def call_id(self, request_id: object, key: str | None) -> str:
        """What the call is known by: the client's own key, else its request, else a new id."""
        if key is not None:
            return safe_call_id(f"key-{key}")
        if self._own_ids:
            return safe_call_id(f"{self._nonce}-{request_id}")
        return f"{self._nonce}-{os.urandom(8).hex()}"

    def start(self, call_id: str, pending: Pending, call: Coroutine[Any, Any, ToolResult]) -> None:
        """Run a call in a task that this session owns."""
        task = pending.start(call)
        self._own(task)
        if self._in_flight.setdefault(call_id, pending) is pending:
            task.add_done_callback(lambda task: self._in_flight.pop(call_id))

    def in_flight(self, call_id: str) -> Pending | None:
        """The call of that id, if it is under way."""
        return self._in_flight.get(call_id)

    def park(self, state: str, pending: Pending) -> None:
        """Keep a call that waits for an answer, by the secret that brings it back."""
        self._parked[state] = pending
        if len(self._parked) > _MOST_STATES:
            forgotten, oldest = self._parked.popitem(last=False)
            if oldest.state == forgotten:
                oldest.reply(None)

    def parked(self, state: str) -> Pending | None:
        """The call of that secret. It stays known: an answer that is sent twice is one."""
        return self._parked.get(state)

    async def aclose(self) -> None:
        """End every call, then the runtime and its jobs; safe to repeat."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        with anyio.move_on_after(_CLOSING_S, shield=True):
            if self._tasks:
                await asyncio.wait(set(self._tasks))
            async with self._opening:
                if self._runtime is not None:
                    await self._runtime.aclose()

    def _heard(self, event: Event) -> None:
        if isinstance(event, ToolRegistered | ToolUnregistered) and self._loop is not None:
            # A tool may be registered from any thread.
            self._loop.call_soon_threadsafe(self._tools_changed)

    def _tools_changed(self) -> None:
        if not self._closed:
            self._own(asyncio.create_task(self._tell_of_tools()))

    async def _tell_of_tools(self) -> None:
        if self.client is not None:
            await self.client.send_tool_list_changed()
        if self.on_tools_changed is not None:
            await self.on_tools_changed()

    def _own(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_PATIENCE_S = 10.0


async def client_roots(ctx: ServerRequestContext[Any, Any]) -> list[str]:
    """The directories that the client works in, as far as it tells; the newer protocol has no
    such question.
    """
    said = ctx.session.client_capabilities
    if said is None or said.roots is None or not ctx.session.can_send_request:
        return []
    try:
        found = await ctx.session.send_request(
            ListRootsRequest(),
            ListRootsResult,
            request_read_timeout_seconds=_PATIENCE_S,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValidationError):
        return []
    paths = [directory_of(str(root.uri)) for root in found.roots]
    return [path for path in paths if path is not None]


def directory_of(uri: str) -> str | None:
    """The directory that a `file:` URI names on this machine; None if there is none."""
    parts = urlsplit(uri)
    path = Path(unquote(parts.path))
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not path.is_absolute():
        return None
    return str(path) if "\0" not in str(path) and path.is_dir() else None
