"""The time limit of a search in a thread, and its cancellation."""

from __future__ import annotations

import time


class SearchBudget:
    """Polled by the searching thread; stopped when the answer is no longer needed."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.timed_out = False
        self._stopped = False

    def stop(self) -> None:
        """Cancel the search."""
        self._stopped = True

    @property
    def over(self) -> bool:
        """Whether to stop and return what was found so far."""
        self.timed_out = self.timed_out or time.monotonic() > self._end
        return self.timed_out or self._stopped
