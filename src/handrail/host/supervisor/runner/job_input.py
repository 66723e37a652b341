"""The input of a background job: a named pipe in the job's directory to which any process of the
user can write, connected to the program's stdin or to its terminal.
"""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.host.supervisor.runner.launch import OutputPipes
from handrail.host.supervisor.runner.process_tree import EventLoop
from handrail.host.supervisor.runner.program import OutputSinks

INPUT_NAME: Final = "stdin"
_CHUNK: Final = 4096
_RETRY_S: Final = 0.05
_END_OF_FILE: Final = b"\x04"
# Rows and columns; with zero, programs would wrap lines badly.
_SIZE: Final = struct.pack("HHHH", 50, 200, 0, 0)


class JobInput:
    """Forwards what is written to the named pipe, until the end of input is sent."""

    def __init__(self, place: Path, loop: EventLoop, *, terminal: bool) -> None:
        self._path = place / INPUT_NAME
        self._loop = loop
        self._terminal = terminal
        self._pending = b""
        self._master = -1
        os.mkfifo(self._path, 0o600)
        self._reading = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        # As long as this end is open, the program does not see the end of its input.
        self._writing = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def outputs(self, sinks: OutputSinks, sink: Callable[[memoryview], None]) -> OutputPipes:
        """Return the program's descriptors; its output goes to `sink`."""
        if not self._terminal:
            writing = sinks.open(sink)
            stdin, self._reading = self._reading, -1
            os.set_blocking(stdin, True)
            return OutputPipes(writing, os.dup(writing), None, stdin)
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, _SIZE)
        os.set_blocking(self._master, False)
        sinks.adopt(os.dup(self._master), sink)
        self._loop.add(self._reading, self._forward)
        return OutputPipes(slave, os.dup(slave), None, os.dup(slave))

    def each_turn(self) -> float | None:
        """Write what the terminal did not accept before; return when to call again."""
        if not self._pending:
            return None
        self._push()
        if self._pending:
            return time.monotonic() + _RETRY_S
        self._loop.add(self._reading, self._forward)
        return None

    def close(self) -> None:
        """Send the end of input; nothing more can be written."""
        self._path.unlink(missing_ok=True)
        if self._writing < 0:
            return
        if self._terminal:
            self._forward()
            self._pending += _END_OF_FILE
            self._push()
        os.close(self._writing)
        self._writing = -1

    def release(self) -> None:
        """Close everything after the program has ended."""
        self._path.unlink(missing_ok=True)
        self._loop.remove(self._reading)
        for handle in (self._reading, self._writing, self._master):
            if handle >= 0:
                os.close(handle)
        self._reading = self._writing = self._master = -1

    def _forward(self) -> None:
        data = b""
        with suppress(BlockingIOError):
            data = os.read(self._reading, _CHUNK)
        if not data:
            # All writers have closed the pipe; its descriptor would stay readable.
            if self._writing < 0:
                self._loop.remove(self._reading)
            return
        self._pending += data
        self._push()
        if self._pending:
            # No more is read until the terminal has accepted the rest.
            self._loop.remove(self._reading)

    def _push(self) -> None:
        try:
            while self._pending:
                self._pending = self._pending[os.write(self._master, self._pending) :]
        except BlockingIOError:
            return
        except OSError:
            # The program has closed its terminal.
            self._pending = b""
