"""Results for the client, and progress and log notifications while a call runs.

Events are queued by the engine without waiting. If a client reads too slowly, only the newest
events are kept.
"""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Self, get_args

from mcp.server.context import ServerRequestContext
from mcp_types import LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParams

from handrail.core.events import CallHeartbeat, CallOutput, CallProgress, Event
from handrail.core.results import ToolResult
from handrail.core.text.nesting import parse_json
from handrail.core.text.safe_text import safe_text

META: Final = "handrail/result"
# Property of the structured content that holds the text.
TEXT: Final = "text"
_COMMAND_META: Final = (
    "undo",
    "undo_left_out",
    "undo_left_out_count",
    "unattributed",
    "unattributed_count",
)

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

    async def __aexit__(self, kind: object, *_: object) -> None:
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


def wire_result(result: ToolResult, *, structured: bool) -> dict[str, Any]:
    """Return the response of `tools/call`. Refusals are results too."""
    text = _encodable(result.text)
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    for image in result.images:
        data = base64.b64encode(image.data).decode("ascii")
        content.append({"type": "image", "data": data, "mimeType": image.media_type})
    wire: dict[str, Any] = {
        "resultType": "complete",
        "content": content,
        "isError": result.is_error,
        "_meta": _meta(result),
    }
    if structured and result.data is not None:
        wire["structuredContent"] = _structured(text, result.data)
    return wire


def _structured(text: str, data: Any) -> dict[str, Any]:
    # MCP requires an object; other values are wrapped and have no schema.
    content: dict[str, Any] = data if isinstance(data, dict) else {"result": data}
    # A tool's own property of this name is kept.
    return content if TEXT in content or _is_data_text(text, data) else {TEXT: text, **content}


def _is_data_text(text: str, data: Any) -> bool:
    """Return whether the text is the data as JSON."""
    try:
        return text[:1] in ("{", "[") and bool(parse_json(text) == data)
    except ValueError:
        return False


def _meta(result: ToolResult) -> dict[str, Any]:
    meta: dict[str, Any] = {"call_id": result.call_id, "status": result.status.value}
    if result.problem is not None:
        meta["problem"] = result.problem.to_dict()
    if result.changes:
        meta["changes"] = [
            {"path": change.path, "operation": change.operation} for change in result.changes
        ]
    # For commands: what undo covers, and concurrent changes by other processes.
    meta |= {name: result.meta[name] for name in _COMMAND_META if name in result.meta}
    return {META: meta}


def _encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by U+FFFD."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
