"""The place that a subagent occupies at work, and lends while it waits for others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class WorkingPlace:
    """One of a limited number of places. It is free from the start of the first of several waits
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
        """Wait for a free place, and have it for the work in the block."""
        await self._places.acquire()
        self._at_work = self._held = True
        try:
            yield
        finally:
            self._at_work = False
            self._free()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Leave the place to others for the block. A block that is cancelled does not take it back: its
        agent may end, and others may never return the place. If the agent goes on, it calls `regain`.
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
            await self._take_back()
            raise
        self._waits -= 1
        await self._take_back()

    async def regain(self) -> None:
        """Wait for a place again if a cancelled wait has left the work without one."""
        await self._take_back()

    async def _take_back(self) -> None:
        async with self._taking:
            if not self._is_due():
                return
            await self._places.acquire()
            self._held = True
            if self._waits or not self._at_work:
                # Meanwhile another wait began, or the work ended.
                self._free()

    def _is_due(self) -> bool:
        return self._at_work and not self._held and not self._waits

    def _free(self) -> None:
        if self._held:
            self._held = False
            self._places.release()
