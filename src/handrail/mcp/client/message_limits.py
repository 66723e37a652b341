"""Limits the messages of servers: their bytes, and the number of JSON values, each of which needs many
times its bytes in memory.
"""

from __future__ import annotations

import re
from typing import Final

MAX_MESSAGE: Final = 16 << 20
MAX_VALUES: Final = 250_000
# A string up to its end or the end of the line, or a character that precedes a value.
_PART: Final = re.compile(rb'"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+(")?|[\[{,]')


class ValueCounter:
    """Counts the values of one JSON message, which may arrive in pieces; a key counts as a value."""

    def __init__(self) -> None:
        self._count = 0
        # The beginning of a string that continues in the next piece.
        self._open = b""

    def exceeds_limit(self, piece: bytes) -> bool:
        """Count the values of a piece; returns whether the message has more than `MAX_VALUES`."""
        data, self._open = self._open + piece, b""
        last: re.Match[bytes] | None = None
        for last in _PART.finditer(data):  # noqa: B007 - the last one is looked at below
            self._count += 1
            if self._count > MAX_VALUES:
                return True
        if last is not None and last[0][:1] == b'"' and last[1] is None:
            rest = data[last.end() :]
            if rest in (b"", b"\\"):
                self._open = b'"' + rest
                self._count -= 1
        return False
