"""Hooks that nobody waits for: few at a time, and none outlives the runtime."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

import anyio

_log = logging.getLogger("handrail")
_MOST: Final = 8
_PATIENCE_S: Final = 15.0


class Background:
    """Owns the tasks that it starts."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Let it run; one too many is left out, and that is said."""
        if len(self._tasks) >= _MOST:
            _log.warning("hook %s was not run: %d others are still running", name, _MOST)
            return
        task = asyncio.get_running_loop().create_task(work(), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    async def aclose(self) -> None:
        """End what still runs."""
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            with anyio.CancelScope(shield=True):
                await asyncio.wait(tuple(self._tasks), timeout=_PATIENCE_S)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        bug = None if task.cancelled() else task.exception()
        if bug is not None:
            _log.error("hook %s failed in a way that it should not", task.get_name(), exc_info=bug)
