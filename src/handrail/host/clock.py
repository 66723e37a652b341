"""The machine's clocks."""

from __future__ import annotations

import time


class SystemClock:
    """Time as the machine tells it: wall clock in nanoseconds since the epoch, and seconds
    that never go back. The functions themselves: a call asks for the time six times.
    """

    now_ns = staticmethod(time.time_ns)
    monotonic = staticmethod(time.monotonic)
