"""How large a message of a server may be: its bytes, and the values of its JSON, each of which costs
many times its bytes in memory.
"""

from __future__ import annotations

import re
from typing import Final

MAX_MESSAGE: Final = 16 << 20
MAX_VALUES: Final = 250_000
# A string up to its end or that of its line, or what stands before a value.
_PART: Final = re.compile(rb'"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+(")?|[\[{,]')


class ValueCounter:
    """Counts the values of one message of JSON, which may arrive in pieces; a key counts as one."""

    def __init__(self) -> None:
        self._count = 0
        # The beginning of a string that goes on in the next piece.
        self._open = b""

    def exceeds_limit(self, piece: bytes) -> bool:
        """Whether the message has more than `MAX_VALUES` values, with this piece of it."""
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
