"""The slot that a subagent occupies while it works, and releases while it waits for others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class WorkingPlace:
    """One of a limited number of slots. During overlapping waits it is free from the start of the first
    until the end of the last.
    """

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._at_work = False
        self._held = False
        self._waits = 0
        self._taking = asyncio.Lock()

    @asynccontextmanager
    async def occupied(self) -> AsyncIterator[None]:
        """Wait for a free slot and hold it during the block."""
        await self._places.acquire()
        self._at_work = self._held = True
        try:
            yield
        finally:
            self._at_work = False
            self._free()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Release the slot during the block. A cancelled block does not wait for a slot again: its agent
        may be ending, and a slot may never become free. If the agent continues, it calls `regain`.
        """
        self._waits += 1
        self._free()
        try:
            yield
        except asyncio.CancelledError:
            self._waits -= 1
            raise
        except BaseException:
            self._waits -= 1
            await self._reacquire()
            raise
        self._waits -= 1
        await self._reacquire()

    async def regain(self) -> None:
        """Wait for a slot if a cancelled wait has left the agent without one."""
        await self._reacquire()

    async def _reacquire(self) -> None:
        async with self._taking:
            if not self._is_due():
                return
            await self._places.acquire()
            self._held = True
            if self._waits or not self._at_work:
                # Another wait has begun, or the work has ended in the meantime.
                self._free()

    def _is_due(self) -> bool:
        return self._at_work and not self._held and not self._waits

    def _free(self) -> None:
        if self._held:
            self._held = False
            self._places.release()
