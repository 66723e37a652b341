"""The machine's clocks."""

from __future__ import annotations

import time


class SystemClock:
    """Time as the machine tells it."""

    def now_ns(self) -> int:
        """Wall clock in nanoseconds since the epoch."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()
