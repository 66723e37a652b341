"""Reads server-sent events from bytes that are split at any position."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from handrail.core.ports.models import ModelFailed

MAX_EVENT_BYTES: Final = 4 * 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


class ServerEvent(NamedTuple):
    """One event: its type ("" if the server gave none) and its data."""

    event: str
    data: str


class SseReader:
    """Turns chunks of bytes into events. A last event without its blank line was cut off and is not
    returned. Raises `ModelFailed` for an event over the limit, before it is parsed.
    """

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self._line = bytearray()
        # How far the unfinished line was searched for its end.
        self._searched = 0
        self._at_start = True
        self._after_return = False
        self._event = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Return the events that this chunk completes."""
        if self._after_return and chunk:
            # The second half of a CRLF that was split between two chunks.
            chunk = chunk.removeprefix(b"\n")
            self._after_return = False
        self._line += chunk
        if self._at_start and not self._strip_bom():
            return []
        events: list[ServerEvent] = []
        start = 0
        while (match := _LINE_END.search(self._line, max(start, self._searched))) is not None:
            self._take_line(bytes(self._line[start : match.start()]), events)
            start = self._searched = match.end()
            self._after_return = match[0] == b"\r" and start == len(self._line)
        del self._line[:start]
        self._searched = len(self._line)
        self._check_size(len(self._line))
        return events

    def _strip_bom(self) -> bool:
        """Remove the byte order mark at the start; False if more bytes are needed to decide."""
        if len(self._line) < len(_BOM) and _BOM.startswith(self._line):
            return False
        self._at_start = False
        if self._line.startswith(_BOM):
            del self._line[: len(_BOM)]
        return True

    def _take_line(self, line: bytes, events: list[ServerEvent]) -> None:
        if not line:
            if self._data:
                data = b"\n".join(self._data).decode("utf-8", "replace")
                events.append(ServerEvent(self._event.decode("utf-8", "replace"), data))
            self._event, self._data, self._size = b"", [], 0
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._check_size(len(value))
            self._size += len(value)
            self._data.append(value)
        elif name == b"event":
            self._check_size(len(value))
            self._event = value

    def _check_size(self, more: int) -> None:
        if self._size + more > self._limit:
            message = f"an event of the stream is larger than {self._limit:,} bytes"
            raise ModelFailed("over_limit", message)
