"""The session of one client: its runtime, opened on first use, and its calls in flight.

Closing the session ends all of them.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.message import ServerMessageMetadata
from mcp_types import ListRootsRequest, ListRootsResult, LoggingLevel
from pydantic import ValidationError

from handrail.core.call import safe_call_id
from handrail.core.events import Event, ToolRegistered, ToolUnregistered
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.mcp.server.config import ServerConfig, restrict_tools
from handrail.mcp.server.elicitation import ClientApprover
from handrail.mcp.server.pending import PendingMcpCall

if TYPE_CHECKING:
    from handrail.assembly.runtime_opener import RuntimeOpener
    from handrail.engine.runtime import Runtime

# Limit on concurrent calls of one client.
MAX_CALLS: Final = 1000
_MAX_PARKED: Final = 256
_CLOSE_TIMEOUT_S: Final = 60.0
# Faster than a model answers a result: such calls were sent at the same time.
_MODEL_S: Final = 0.5


class ClientSession:
    """The state of one client.

    `own_ids` is true if request ids are unique to this client, so that a repeated id means the
    same call.
    """

    def __init__(self, offer: ServerConfig, *, own_ids: bool) -> None:
        self.offer = offer
        self.approver = ClientApprover(offer.fallback)
        # Default until the client sets it; newer protocol versions send it with each request.
        self.level: LoggingLevel = "warning"
        self.client: ServerSession | None = None
        self.on_tools_changed: Callable[[], Awaitable[None]] | None = None
        self._nonce = os.urandom(4).hex()
        self._own_ids = own_ids
        self._runtime: Runtime | None = None
        self._opener: RuntimeOpener | None = None
        self._continued: str | None = None
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._in_flight: dict[str, PendingMcpCall] = {}
        self._parked: OrderedDict[str, PendingMcpCall] = OrderedDict()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether calls of this client are running."""
        return bool(self._tasks)

    @property
    def is_open(self) -> bool:
        """Whether the runtime is open, or being opened."""
        return self._runtime is not None or self._opening.locked()

    @property
    def has_jobs(self) -> bool:
        """Whether jobs of this client kept its runtime open at the last attempt to suspend it."""
        opener = self._opener
        return opener is not None and opener.suspension is not None and opener.suspension.has_jobs

    @property
    def crowded(self) -> bool:
        """Whether the limit on concurrent calls is reached."""
        return len(self._tasks) >= MAX_CALLS

    async def runtime(self, roots: Callable[[], Awaitable[Sequence[str]]]) -> Runtime:
        """Return the runtime, opened on first use with the client's roots.

        Raises `ProblemRaised` if it cannot be opened; the next call tries again.
        """
        # Also taken if the runtime is open, so that waiting calls keep their order.
        async with self._opening:
            if self._runtime is None:
                self._runtime = await self._open(await roots())
        return self._runtime

    async def _open(self, roots: Sequence[str]) -> Runtime:
        offer = self.offer
        opening = offer.open(approver=self.approver, directories=roots, session=offer.session)
        opening.calls_together_s = _MODEL_S
        opening.continued = self._continued
        runtime = await opening
        try:
            restrict_tools(runtime, offer)
            offer.ready(runtime)
            self._loop = asyncio.get_running_loop()
            runtime.subscribe(self._on_event)
        except BaseException:
            await runtime.aclose()
            raise
        if self._closed:
            await runtime.aclose()
        self._opener = opening
        return runtime

    async def suspend(self) -> bool:
        """Close the runtime; the next call opens another one that continues the session.

        Returns False if the runtime stays open, because calls are running or because closing it
        would lose jobs, grants or other state that is not in the store.
        """
        async with self._opening:
            runtime, opener = self._runtime, self._opener
            if runtime is None or opener is None or opener.suspension is None:
                return True
            try:
                if self.busy or self._closed or not await opener.suspension.save():
                    return False
            except ProblemRaised:
                return False
            self._continued = runtime.session.id
            # The client refers to its last request.
            self._runtime = self._opener = self.client = None
            await runtime.aclose()
        return True

    def call_id(self, request_id: object, key: str | None) -> str:
        """Return the call id: from the client's key, else from the request id, else a new one."""
        if key is not None:
            return safe_call_id(f"key-{key}")
        if self._own_ids:
            return safe_call_id(f"{self._nonce}-{request_id}")
        return f"{self._nonce}-{os.urandom(8).hex()}"

    def start(
        self, call_id: str, pending: PendingMcpCall, call: Coroutine[Any, Any, ToolResult]
    ) -> None:
        """Run a call in a task owned by this session."""
        task = pending.start(call)
        self._own(task)
        if self._in_flight.setdefault(call_id, pending) is pending:
            task.add_done_callback(lambda task: self._in_flight.pop(call_id))

    def in_flight(self, call_id: str) -> PendingMcpCall | None:
        """Return the running call of that id, or None."""
        return self._in_flight.get(call_id)

    def park(self, state: str, pending: PendingMcpCall) -> None:
        """Keep a call that waits for an answer, by the secret of its question."""
        self._parked[state] = pending
        if len(self._parked) > _MAX_PARKED:
            forgotten, oldest = self._parked.popitem(last=False)
            if oldest.state == forgotten:
                oldest.reply(None)

    def parked(self, state: str) -> PendingMcpCall | None:
        """Return the call of that secret, or None. An answer may be sent more than once."""
        return self._parked.get(state)

    async def aclose(self) -> None:
        """Cancel all calls, then close the runtime and its jobs; idempotent."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        with anyio.move_on_after(_CLOSE_TIMEOUT_S, shield=True):
            if self._tasks:
                await asyncio.wait(set(self._tasks))
            async with self._opening:
                if self._runtime is not None:
                    await self._runtime.aclose()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ToolRegistered | ToolUnregistered) and self._loop is not None:
            # Tools can be registered from any thread.
            self._loop.call_soon_threadsafe(self._tools_changed)

    def _tools_changed(self) -> None:
        if not self._closed:
            self._own(asyncio.create_task(self._notify_tools_changed()))

    async def _notify_tools_changed(self) -> None:
        if self.client is not None:
            await self.client.send_tool_list_changed()
        if self.on_tools_changed is not None:
            await self.on_tools_changed()

    def _own(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_ROOTS_TIMEOUT_S = 10.0


async def client_roots(ctx: ServerRequestContext[Any, Any]) -> list[str]:
    """Ask the client for its roots; [] if it does not support the request."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.roots is None or not ctx.session.can_send_request:
        return []
    try:
        response = await ctx.session.send_request(
            ListRootsRequest(),
            ListRootsResult,
            request_read_timeout_seconds=_ROOTS_TIMEOUT_S,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValidationError):
        return []
    paths = [root_directory(str(root.uri)) for root in response.roots]
    return [path for path in paths if path is not None]


def root_directory(uri: str) -> str | None:
    """Return the local directory of a `file:` URI; None if it is not an existing directory."""
    parts = urlsplit(uri)
    path = Path(unquote(parts.path))
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not path.is_absolute():
        return None
    return str(path) if "\0" not in str(path) and path.is_dir() else None
