"""Sends progress and log notifications to the client while a call runs.

Events are queued by the engine without waiting. If a client reads too slowly, only the newest
events are kept.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self, get_args

from mcp.server.context import ServerRequestContext
from mcp_types import LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParams

from handrail.core.events import CallHeartbeat, CallOutput, CallProgress, Event
from handrail.core.text.safe_text import safe_text

LEVELS: Final[tuple[LoggingLevel, ...]] = get_args(LoggingLevel)
WAITING_FOR_APPROVAL: Final = "waiting for approval: run `handrail approvals`"
_KEPT: Final = 64
_SHOWN_CHARS: Final = 400
# Time limit for sending the rest of the queue when the call has ended.
_FLUSH_S: Final = 1.0


class ProgressReporter:
    """Reports one call to the request `ctx`; `level` is the lowest log level the client wants.

    `is_waiting` returns whether a call waits for an approval that is given elsewhere.
    """

    def __init__(
        self,
        ctx: ServerRequestContext[Any, Any],
        *,
        progress: bool,
        level: LoggingLevel | None,
        is_waiting: Callable[[str], bool] = lambda call_id: False,
    ) -> None:
        self._ctx = ctx
        self._is_waiting = is_waiting
        self._progress = progress
        self._verbose = level is not None and LEVELS.index(level) <= LEVELS.index("info")
        self._waiting: deque[Event] = deque(maxlen=_KEPT)
        self._news = asyncio.Event()
        self._steps = 0
        self._over = False
        self._pump: asyncio.Task[None] | None = None

    @property
    def wanted(self) -> bool:
        """Whether the client asked for progress or log notifications."""
        return self._progress or self._verbose

    def __call__(self, event: Event) -> None:
        """Queue an event; called by the engine, never blocks."""
        if isinstance(event, CallHeartbeat | CallProgress | CallOutput):
            self._waiting.append(event)
            self._news.set()

    async def __aenter__(self) -> Self:
        if self.wanted:
            self._pump = asyncio.create_task(self._send_all())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pump is None:
            return
        self._over = True
        self._news.set()
        if kind is None:
            await asyncio.wait({self._pump}, timeout=_FLUSH_S)
        self._pump.cancel()
        await asyncio.wait({self._pump})

    async def _send_all(self) -> None:
        while self._waiting or not self._over:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                await self._send(self._waiting.popleft())

    async def _send(self, event: Event) -> None:
        text = _event_text(event)
        if isinstance(event, CallHeartbeat) and self._is_waiting(event.call_id):
            text = WAITING_FOR_APPROVAL
        if self._progress:
            self._steps += 1
            await self._ctx.session.report_progress(float(self._steps), None, text)
        if self._verbose and isinstance(event, CallOutput | CallProgress):
            await log(self._ctx, "info", text, event.tool)


async def log(
    ctx: ServerRequestContext[Any, Any], level: LoggingLevel, text: str, logger: str
) -> None:
    """Send a log notification; the caller has checked the level."""
    params = LoggingMessageNotificationParams(level=level, data=text, logger=logger)
    await ctx.session.send_notification(
        LoggingMessageNotification(params=params), related_request_id=ctx.request_id
    )


def _event_text(event: Event) -> str:
    if isinstance(event, CallHeartbeat):
        return f"{event.tool} is still running ({event.elapsed_s:.0f} s)"
    text = event.text if isinstance(event, CallProgress | CallOutput) else ""
    return safe_text(text[-_SHOWN_CHARS:]).strip()
