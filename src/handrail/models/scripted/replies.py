"""The replies of a scripted service: messages in order, and faults between them."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import Any, Final, Literal, NamedTuple

from handrail.models.scripted.streams import ScriptedMessage, StreamShape, render_stream

FaultKind = Literal[
    "cut", "413", "429", "500", "hang", "ping", "malformed", "order", "duplicate_ids", "usage"
]
_BYTES_PER_TOKEN: Final = 4
_ABSURD: Final = {"input": -5, "output": float("nan"), "cache_read": 1e300, "cache_write": -1}
DONE: Final = ScriptedMessage(text="done")


@dataclass(frozen=True, slots=True)
class ProviderFault:
    """A fault of the next request. The message that was next stays next.

    "cut" breaks the connection after `after` bytes of the stream; "hang" sends that many and then
    nothing; "ping" sends keep-alive events for ever; "413", "429" and "500" are error responses,
    with `retry_after_s` in the header that `header` names ("date": `retry-after` as a date);
    "malformed" has an event that is not JSON, "order" has its events in a wrong order,
    "duplicate_ids" uses one id for all calls, "usage" has absurd token counts.
    """

    kind: FaultKind
    after: int = 0
    retry_after_s: float | None = None
    header: Literal["retry-after", "retry-after-ms", "date"] = "retry-after"


class ScriptedReply(NamedTuple):
    """A reply: its pieces, what happens after the last one, and the pauses before the first and
    after each piece.
    """

    status: int
    headers: Mapping[str, str]
    chunks: list[bytes]
    then: Literal["end", "cut", "hang", "ping"] = "end"
    delay_s: float = 0.0
    pause_s: float = 0.0


class ReplyQueue:
    """Answers requests in order; after the last entry every message is "done"."""

    def __init__(
        self, entries: Iterable[ScriptedMessage | ProviderFault] = (), *, chunk: int = 20
    ) -> None:
        self.entries: deque[ScriptedMessage | ProviderFault] = deque(entries)
        self.requests = 0
        self.tokens = {"input": 0, "output": 0}
        self._chunk = chunk

    def answer(self, wire: str, body: bytes) -> ScriptedReply:
        """Return the reply to a request with this body."""
        self.requests += 1
        fault = self._take_fault()
        if fault is not None and fault.kind in ("413", "429", "500"):
            return _error_reply(fault, wire)
        message = self.take_message() if fault is None else self._peek_message()
        return self._reply(message, wire, len(body), fault)

    def _reply(
        self, message: ScriptedMessage, wire: str, size: int, fault: ProviderFault | None
    ) -> ScriptedReply:
        kind = None if fault is None else fault.kind
        if kind == "duplicate_ids":
            calls = tuple(replace(call, id="call_same") for call in message.calls)
            message = replace(message, calls=calls)
        usage = _ABSURD if kind == "usage" else self._usage(message, size)
        shape = StreamShape(f"resp{self.requests}", usage, self._chunk)
        chunks = render_stream(message, wire, shape)
        headers = {"content-type": "text/event-stream; charset=utf-8"}
        if fault is None or kind in ("duplicate_ids", "usage"):
            pause_s = message.stream_s / len(chunks)
            return ScriptedReply(200, headers, chunks, delay_s=message.delay_s, pause_s=pause_s)
        if kind == "malformed":
            return ScriptedReply(200, headers, [*chunks[:-1], b'data: {"type": \n\n'])
        if kind == "order":
            return ScriptedReply(200, headers, [*chunks[1:-1], chunks[0], chunks[-1]][::-1])
        if kind == "ping":
            return ScriptedReply(200, headers, [], "ping")
        data = b"".join(chunks)[: fault.after]
        return ScriptedReply(
            200, headers, [data] if data else [], "cut" if kind == "cut" else "hang"
        )

    def _usage(self, message: ScriptedMessage, size: int) -> Mapping[str, Any]:
        characters = len(message.text) + len(message.thinking)
        characters += sum(len(call.name) + len(call.arguments_json) for call in message.calls)
        usage = dict(message.usage or {})
        usage.setdefault("input", max(size // _BYTES_PER_TOKEN, 1))
        usage.setdefault("output", max(characters // _BYTES_PER_TOKEN, 1))
        for name in self.tokens:
            if isinstance(usage[name], int):
                self.tokens[name] += usage[name]
        return usage

    def _take_fault(self) -> ProviderFault | None:
        first = self.entries[0] if self.entries else None
        if not isinstance(first, ProviderFault):
            return None
        self.entries.popleft()
        return first

    def take_message(self) -> ScriptedMessage:
        """Remove and return the next message; "done" if there is none."""
        entry = self.entries.popleft() if self.entries else DONE
        return entry if isinstance(entry, ScriptedMessage) else DONE

    def _peek_message(self) -> ScriptedMessage:
        return next((entry for entry in self.entries if isinstance(entry, ScriptedMessage)), DONE)


def _error_reply(fault: ProviderFault, wire: str) -> ScriptedReply:
    status = int(fault.kind)
    headers = {"content-type": "application/json"}
    if fault.retry_after_s is not None:
        if fault.header == "retry-after-ms":
            headers["retry-after-ms"] = f"{fault.retry_after_s * 1000:g}"
        elif fault.header == "date":
            headers["retry-after"] = formatdate(time.time() + fault.retry_after_s, usegmt=True)
        else:
            headers["retry-after"] = f"{fault.retry_after_s:g}"
    word = {413: "request_too_large", 429: "rate_limit_error"}.get(status, "api_error")
    error: dict[str, Any] = {"type": word, "message": f"scripted {fault.kind}"}
    if wire == "gemini":
        error = {"code": status, "message": f"scripted {fault.kind}", "status": word.upper()}
    return ScriptedReply(status, headers, [json.dumps({"type": "error", "error": error}).encode()])
