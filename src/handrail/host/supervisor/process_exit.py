"""Waiting for the end of any process, without being its parent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable


async def wait_exit(pid: int, *, still: Callable[[], bool] = lambda: True) -> None:
    """Until that process has ended. `still` says whether the number is still the one meant."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        # Asked with the handle open, which cannot become another's.
        if still():
            await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
