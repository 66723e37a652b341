"""How long a search in a thread may go on, and how it is told to stop."""

from __future__ import annotations

import time


class Budget:
    """Asked often by the thread; stopped by whoever no longer wants the answer."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.timed_out = False
        self._stopped = False

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        self._stopped = True

    @property
    def over(self) -> bool:
        """Whether to stop here and answer with what there is."""
        self.timed_out = self.timed_out or time.monotonic() > self._end
        return self.timed_out or self._stopped
