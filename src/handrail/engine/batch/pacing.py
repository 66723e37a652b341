"""Long work on the event loop, done in slices so that other tasks get their turn."""

from __future__ import annotations

import asyncio
from typing import Final

from handrail.core.ports.machine import Clock

_SLICE_S: Final = 0.005
_MOST_STEPS: Final = 64


class Pacer:
    """Counts the steps of some work and yields to the loop after a few of them, or after a
    slice of time, whichever comes first.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._steps = 0
        self._since = clock.monotonic()

    async def step(self) -> None:
        """One step is done; yields if it is time to."""
        self._steps += 1
        if self._steps < _MOST_STEPS and self._clock.monotonic() - self._since < _SLICE_S:
            return
        await asyncio.sleep(0)
        self._steps = 0
        self._since = self._clock.monotonic()
