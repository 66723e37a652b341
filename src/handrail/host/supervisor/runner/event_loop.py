"""A minimal event loop for supervisor and runners: file descriptors, callbacks, signals."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from typing import Final

_PLENTY: Final = 4096


class EventLoop:
    """Polls file descriptors and calls their callbacks, one turn at a time."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._calls: dict[int, Callable[[], None]] = {}

    def add(self, handle: int, call: Callable[[], None]) -> None:
        """Call `callback` whenever the descriptor is readable or at its end."""
        self._calls[handle] = call
        self._poll.register(handle, select.POLLIN)

    def remove(self, handle: int) -> None:
        """Stop polling a descriptor; unknown descriptors are ignored."""
        if self._calls.pop(handle, None) is not None:
            self._poll.unregister(handle)

    def turn(self, until: float | None) -> None:
        """Wait for the next event, at most until `until` (monotonic)."""
        wait_ms = None if until is None else max(until - time.monotonic(), 0) * 1000
        for handle, _ in self._poll.poll(wait_ms):
            call = self._calls.get(handle)
            if call is not None:
                call()


class SignalPipe:
    """Delivers signals through a pipe. Started programs get the default dispositions."""

    def __init__(self, *numbers: signal.Signals) -> None:
        self.handle, self._sender = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            # Not SIG_IGN, which programs would inherit.
            signal.signal(number, _nothing if number in numbers else signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, _nothing)
        signal.set_wakeup_fd(self._sender, warn_on_full_buffer=False)

    def take(self) -> bytes:
        """The signals received since the last call."""
        try:
            return os.read(self.handle, _PLENTY)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Stop listening; used after a fork, where the signals belong to the other process."""
        signal.set_wakeup_fd(-1)
        os.close(self.handle)
        os.close(self._sender)


def _nothing(number: int, frame: object) -> None:
    """A handler that only wakes up the loop."""
    del number, frame
