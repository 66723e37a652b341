"""Signals that stop a server or a task before the process ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_ENDING: Final = (signal.SIGHUP, signal.SIGTERM)


@contextmanager
def stop_on_signal(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on SIGTERM, SIGHUP and SIGINT instead of terminating."""
    loop = asyncio.get_running_loop()
    # SIGINT is set first: Python handles it from its start, so a test that sees another signal
    # handled knows that all of them are set.
    signals = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
    for one in signals:
        loop.add_signal_handler(one, stop)
    try:
        yield
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


@contextmanager
def end_by_signal(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` on SIGHUP (the terminal was closed) and on SIGTERM. The process ends by that
    signal when the block is left, or at once when a second signal arrives.
    """
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        if len(received) > 1:
            end()
        stop()

    def end() -> None:
        for one in _ENDING:
            loop.remove_signal_handler(one)
        if received:
            os.kill(os.getpid(), received[0])

    for one in _ENDING:
        loop.add_signal_handler(one, on_signal, one)
    try:
        yield
    finally:
        end()
