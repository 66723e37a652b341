"""The small event loop of a runner: handles, what to do when one is ready, and signals."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from typing import Final

_PLENTY: Final = 4096


class EventLoop:
    """Waits for handles and calls what belongs to them; one turn at a time."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._calls: dict[int, Callable[[], None]] = {}

    def add(self, handle: int, call: Callable[[], None]) -> None:
        """Call this whenever the handle can be read or is at its end."""
        self._calls[handle] = call
        self._poll.register(handle, select.POLLIN)

    def remove(self, handle: int) -> None:
        """Forget a handle; one that is not known is no error."""
        if self._calls.pop(handle, None) is not None:
            self._poll.unregister(handle)

    def turn(self, until: float | None) -> None:
        """Wait for the next thing to happen, at most until that time (monotonic)."""
        wait_ms = None if until is None else max(until - time.monotonic(), 0) * 1000
        for handle, _ in self._poll.poll(wait_ms):
            call = self._calls.get(handle)
            if call is not None:
                call()


class SignalPipe:
    """Signals as something to wait for; what is started gets them all as the kernel has them."""

    def __init__(self, *numbers: signal.Signals) -> None:
        self.handle, self._sender = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            # Not SIG_IGN where we do not care: a program would inherit that.
            signal.signal(number, _nothing if number in numbers else signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, _nothing)
        signal.set_wakeup_fd(self._sender, warn_on_full_buffer=False)

    def take(self) -> bytes:
        """The numbers of the signals that have come since the last time."""
        try:
            return os.read(self.handle, _PLENTY)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Stop listening (after a fork: the other process's signals)."""
        signal.set_wakeup_fd(-1)
        os.close(self.handle)
        os.close(self._sender)


def _nothing(number: int, frame: object) -> None:
    """Waking up is all that a signal has to do."""
    del number, frame
