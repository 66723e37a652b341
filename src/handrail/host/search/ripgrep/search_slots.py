"""How many searches run at once: no more processes than cores."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel


class Crowd:
    """Counts the searches under way and lets in as many as there are cores."""

    def __init__(self) -> None:
        self._members = 0
        self._slots = anyio.Semaphore(os.cpu_count() or 1)

    @asynccontextmanager
    async def member(self) -> AsyncIterator[bool]:
        """Wait for a core; yields whether this search has the machine to itself."""
        self._members += 1
        try:
            # Lets the searches that start in this very moment be counted too.
            await anyio.lowlevel.checkpoint()
            async with self._slots:
                yield self._members == 1
        finally:
            self._members -= 1
