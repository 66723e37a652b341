"""Splits long work on the event loop into slices, so that other tasks can run."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import ClassVar, Final, Self

from handrail.core.ports.machine import Clock

_SLICE_S: Final = 0.005
_MOST_STEPS: Final = 64
# Shorter batches create too few objects for a full collection.
_LONG_BATCH: Final = 500
_frozen_lock: Final = threading.Lock()


class HeapFreeze:
    """While a long batch runs, garbage collections skip the objects that existed before it and its
    calls: a full collection of them stops the event loop for 50 ms and more. Does nothing for short
    batches, or in a program that has frozen objects itself.
    """

    _active: ClassVar[int] = 0

    def __init__(self, calls: int) -> None:
        self._wanted = calls >= _LONG_BATCH

    def __enter__(self) -> Self:
        with _frozen_lock:
            if self._wanted and not HeapFreeze._active and gc.get_freeze_count():
                self._wanted = False
            HeapFreeze._active += self._wanted
        self.extend()
        return self

    def extend(self) -> None:
        """Also skip the objects that were created since."""
        if self._wanted:
            gc.freeze()

    def __exit__(self, *_: object) -> None:
        with _frozen_lock:
            HeapFreeze._active -= self._wanted
            if self._wanted and not HeapFreeze._active:
                gc.unfreeze()


class Pacer:
    """Counts the steps of some work and yields to the event loop after a number of them or after a
    slice of time, whichever comes first.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._steps = 0
        self._since = clock.monotonic()

    async def step(self) -> None:
        """Count one step; yield if it is time to."""
        self._steps += 1
        if self._steps < _MOST_STEPS and self._clock.monotonic() - self._since < _SLICE_S:
            return
        await asyncio.sleep(0)
        self._steps = 0
        self._since = self._clock.monotonic()
