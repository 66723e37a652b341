"""Returns memory to the system that the allocator of the C library retains after it was freed."""

from __future__ import annotations

import ctypes


def return_free_memory() -> None:
    """Return free memory to the system, where the C library can (glibc).

    Threads that end, such as those of a store, leave free memory that no other thread uses.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
