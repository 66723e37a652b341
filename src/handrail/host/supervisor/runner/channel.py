"""A runner's end of the socket to the runtime: requests come, answers go.

Live output is never waited for; only the last word of a program is.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from handrail.host.supervisor.wire import Frame, FrameDecoder, FrameKind, encode_frame

_CHUNK: Final = 1 << 14
# A runtime that does not read for so long is gone or stuck for good.
_PATIENCE_MS: Final = 60_000


class RuntimeChannel:
    """One socket; `closed` once the other end has gone."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._unpacker = FrameDecoder()
        self._unsent = bytearray()
        self.closed = False

    def fileno(self) -> int:
        """The handle to wait for."""
        return self._connection.fileno()

    def receive(self) -> list[Frame]:
        """What has arrived; empty too if the other end has gone."""
        try:
            data = self._connection.recv(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            data = b""
        if not data:
            self.closed = True
            return []
        return list(self._unpacker.feed(data))

    def offer(self, stream: str, data: bytes, skipped: int) -> bool:
        """Send live output if there is room for it; whether it was sent."""
        self._push()
        if self._unsent or self.closed:
            return False
        self._unsent += encode_frame(FrameKind.OUTPUT, {"stream": stream, "skipped": skipped}, data)
        self._push()
        return True

    def send(self, kind: FrameKind, header: Mapping[str, Any], body: bytes = b"") -> None:
        """Send an answer and wait until it is on its way, unless nobody is there."""
        self._unsent += encode_frame(kind, header, body)
        self._push()
        poll = select.poll()
        poll.register(self._connection, select.POLLOUT)
        while self._unsent and not self.closed:
            if not poll.poll(_PATIENCE_MS):
                self.close()
                return
            self._push()

    def close(self) -> None:
        """Say goodbye; the other end sees it. The handle stays, so that its number does."""
        self.closed = True
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _push(self) -> None:
        try:
            while self._unsent and not self.closed:
                sent = self._connection.send(self._unsent)
                del self._unsent[:sent]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.closed = True
