"""The system clocks."""

from __future__ import annotations

import time


class SystemClock:
    """Wall clock in nanoseconds since the epoch, and monotonic seconds. Plain functions, because a
    call reads the time six times.
    """

    now_ns = staticmethod(time.time_ns)
    monotonic = staticmethod(time.monotonic)
