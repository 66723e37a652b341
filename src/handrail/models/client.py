"""A model behind a wire format: sends requests, retries them and reads their streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from handrail.core.ports.models import (
    ModelEvent,
    ModelFailed,
    ModelLimits,
    ModelRequest,
    ModelRetry,
    UsageReported,
)
from handrail.core.text.nesting import parse_json
from handrail.models.failures import failure_from_body, read_retry_after
from handrail.models.retries import RetryCounter, RetryPolicy
from handrail.models.sse import ServerEvent, SseReader
from handrail.models.transport import HttpReply, Transport
from handrail.models.wires.fields import malformed
from handrail.models.wires.reader import StreamReader
from handrail.models.wires.requests import WireFormat, WireOptions

_MAX_ERROR_BYTES: Final = 64 * 1024
_BYTES_PER_TOKEN: Final = 4
# How long a stream may stay open after its finish reason.
_AFTER_FINISH_S: Final = 5.0
# Replaces a secret in a message; the shortest prefix of a secret that is hidden.
_HIDDEN: Final = "[key]"
_MIN_START: Final = 8


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. `read_key` returns the key for this origin, or None."""

    base_url: str
    read_key: Callable[[], Awaitable[str | None]]
    headers: Mapping[str, str]


class WireModel:
    """A `Model` that uses one wire format over a transport."""

    def __init__(
        self,
        name: str,
        wire: WireFormat,
        options: WireOptions,
        endpoint: Endpoint,
        transport: Transport,
        limits: ModelLimits | None = None,
        retries: RetryPolicy | None = None,
        detect: Callable[[], Awaitable[ModelLimits]] | None = None,
    ) -> None:
        self.name = name
        self.wire = wire.name
        self.limits = limits or ModelLimits()
        # Whether a script or a recording answers instead of a model.
        self.scripted = False
        self._format = wire
        self._options = options
        self._endpoint = endpoint
        self._transport = transport
        self._retries = retries or RetryPolicy()
        self._detect = detect

    async def prepare(self) -> None:
        """Ask the server for limits that the settings do not give; otherwise the first request does
        it.
        """
        if self._detect is not None:
            self.limits = await self._detect()
            self._detect = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the events of one message. After a transient failure the request is sent again,
        unless an event was already yielded.
        """
        await self.prepare()
        if request.max_output_tokens is None:
            request = replace(request, max_output_tokens=self.limits.max_output_tokens)
        body = self._format.render(request, self._options)
        self._format.check(body)
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        streams = request.stream_retries
        counter = RetryCounter(
            self._retries, self.limits.stream_retries if streams is None else streams
        )
        while True:
            handed_out = False
            retry: ModelRetry
            try:
                async with aclosing(self._attempt(data.encode("utf-8", "replace"))) as events:
                    async for event in events:
                        handed_out = True
                        yield event
                return
            except ModelFailed as failed:
                if handed_out:
                    raise
                retry = counter.next_retry(failed)
            yield retry
            await self._retries.sleep(retry.wait_s)

    async def aclose(self) -> None:
        """Close connections. Safe to call twice."""
        await self._transport.aclose()

    async def _attempt(self, body: bytes) -> AsyncGenerator[ModelEvent, None]:
        key = await self._endpoint.read_key()
        secrets = [*([key] if key else []), *self._endpoint.headers.values()]
        try:
            async with aclosing(self._exchange(body, key)) as events:
                async for event in events:
                    yield event
        except ModelFailed as failed:
            # Without the traceback of the transport, which may contain the request with its key.
            raise scrub_failure(failed, secrets) from None

    async def _exchange(self, body: bytes, key: str | None) -> AsyncGenerator[ModelEvent, None]:
        reply = await self._send(body, key)
        try:
            stream = _MessageStream(self._format.reader(), reply, self._retries.idle_s, len(body))
            async with aclosing(stream.events()) as events:
                async for event in events:
                    yield event
        finally:
            await reply.aclose()

    async def _send(self, body: bytes, key: str | None) -> HttpReply:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            **self._format.fixed_headers(),
            **self._endpoint.headers,
            **(self._format.auth_headers(key) if key else {}),
        }
        url = self._endpoint.base_url.rstrip("/") + self._format.target(self._options)
        try:
            async with asyncio.timeout(self._retries.idle_s):
                reply = await self._transport.post(url, headers, body)
        except TimeoutError:
            raise _idle(self._retries.idle_s) from None
        if reply.status != 200 or not _is_stream(reply):
            try:
                raise await _read_failure(reply, self._retries.idle_s)
            finally:
                await reply.aclose()
        return reply


class _MessageStream:
    """Reads the message in a reply."""

    def __init__(
        self, reader: StreamReader, reply: HttpReply, idle_s: float, request_bytes: int
    ) -> None:
        self._reader = reader
        self._reply = reply
        self._idle_s = idle_s
        self._request_bytes = request_bytes

    async def events(self) -> AsyncGenerator[ModelEvent, None]:
        """Yield the events of the message; raises `ModelFailed` with the complete part."""
        pending: list[ModelEvent] = []
        begun = False
        try:
            async with aclosing(self._read()) as batches:
                async for batch in batches:
                    # Usage alone is delayed: it does not forbid a retry. The last one replaces the
                    # earlier ones.
                    begun = begun or any(not isinstance(event, UsageReported) for event in batch)
                    pending += batch
                    if not begun:
                        del pending[:-1]
                        continue
                    for event in pending:
                        yield event
                    pending.clear()
            finished = self._reader.end()
        except ModelFailed as failed:
            failed.usage = self._usage()
            if begun:
                failed.partial = self._reader.partial()
            raise
        for event in pending:
            yield event
        usage = self._usage()
        if usage != self._reader.usage:
            yield usage
        yield finished

    async def _read(self) -> AsyncGenerator[Sequence[ModelEvent], None]:
        sse, loop = SseReader(), asyncio.get_running_loop()
        deadline = loop.time() + self._idle_s
        async with aclosing(_closable(self._reply.chunks())) as chunks:
            while (chunk := await self._next_chunk(chunks, deadline)) is not None:
                for event in sse.feed(chunk):
                    before = self._reader.progress
                    yield read_event(self._reader, event)
                    if self._reader.stopped:
                        return
                    if self._reader.progress != before:
                        deadline = loop.time() + self._patience_s

    @property
    def _patience_s(self) -> float:
        has_ending = self._reader.ending is not None
        return min(self._idle_s, _AFTER_FINISH_S) if has_ending else self._idle_s

    async def _next_chunk(
        self, chunks: AsyncGenerator[bytes, None], deadline: float
    ) -> bytes | None:
        """Return the next bytes, None at the end. A message with a finish reason is complete,
        however the connection ends.
        """
        try:
            async with asyncio.timeout_at(deadline):
                return await anext(chunks, None)
        except TimeoutError:
            failed = _idle(self._idle_s)
        except ModelFailed as broken:
            message = f"the stream was cut off: {broken.message}"
            failed = ModelFailed("cut", message, retryable=True)
        if self._reader.ending is not None:
            return None
        raise failed

    def _usage(self) -> UsageReported:
        """Return the reported usage, with estimates for missing counts."""
        reported = self._reader.usage or UsageReported(0, 0)
        estimate = reported
        if reported.input <= 0:
            estimate = replace(estimate, input=max(self._request_bytes // _BYTES_PER_TOKEN, 1))
        if reported.output <= 0 and self._reader.pieces:
            estimate = replace(estimate, output=max(self._reader.size // _BYTES_PER_TOKEN, 1))
        return reported if estimate == reported else replace(estimate, estimated=True)


def read_event(reader: StreamReader, event: ServerEvent) -> Sequence[ModelEvent]:
    """Return the model events of one server-sent event."""
    data = event.data.strip()
    if not data or data == "[DONE]":
        # An event without data only keeps the connection alive.
        reader.stopped = reader.stopped or bool(data)
        return ()
    try:
        value = parse_json(event.data)
    except ValueError:
        raise malformed("an event is not JSON") from None
    if not isinstance(value, dict):
        raise malformed("an event is not a JSON object")
    return reader.read(value)


async def _closable(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    async for chunk in chunks:
        yield chunk


async def _read_failure(reply: HttpReply, idle_s: float) -> ModelFailed:
    """Return the failure of a response that is not a stream."""
    data = bytearray()
    try:
        async with asyncio.timeout(idle_s):
            async for chunk in reply.chunks():
                data += chunk[: _MAX_ERROR_BYTES - len(data)]
                if len(data) >= _MAX_ERROR_BYTES:
                    break
    except (TimeoutError, ModelFailed):
        pass
    asked_s = read_retry_after(reply.headers, datetime.now(UTC))
    text = data.decode("utf-8", "replace")
    if reply.status == 200:
        kind = reply.headers.get("content-type", "")[:100]
        return _not_a_stream(text, kind)
    if 300 <= reply.status < 400:
        text = "it answers with a redirect, which is not followed; check base_url"
    return failure_from_body(_parse_json(text), reply.status, retry_after_s=asked_s)


def _not_a_stream(text: str, kind: str) -> ModelFailed:
    body = _parse_json(text)
    if isinstance(body, dict) and body.get("error"):
        return failure_from_body(body, None)
    return ModelFailed("network", f"the answer is {kind!r}, not a stream; check base_url")


def _parse_json(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text


def _is_stream(reply: HttpReply) -> bool:
    kind = reply.headers.get("content-type", "text/event-stream")
    return not kind.startswith(("application/json", "text/html"))


def _idle(limit_s: float) -> ModelFailed:
    return ModelFailed("idle", f"no event came for {limit_s:g} s", retryable=True)


def scrub_failure(failed: ModelFailed, secrets: Sequence[str]) -> ModelFailed:
    """Return the failure without these secrets in its message."""
    message = failed.message
    for secret in secrets:
        for shown in (secret, repr(secret)[1:-1]) if len(secret) >= 4 else ():
            message = _hide(message, shown)
    if message == failed.message:
        return failed
    return ModelFailed(
        failed.code,
        message,
        status=failed.status,
        retryable=failed.retryable,
        retry_after_s=failed.retry_after_s,
        partial=failed.partial,
        usage=failed.usage,
        hint=failed.hint,
    )


def _hide(message: str, secret: str) -> str:
    """Return the message without a secret and without its first half or more: a long message may be
    cut in the middle of the secret.
    """
    start = secret[: max(len(secret) // 2, _MIN_START)]
    at = message.find(start)
    while at >= 0:
        end = at + len(start)
        for actual, expected in zip(message[end:], secret[len(start) :], strict=False):
            if actual != expected:
                break
            end += 1
        message = f"{message[:at]}{_HIDDEN}{message[end:]}"
        at = message.find(start, at + len(_HIDDEN))
    return message
