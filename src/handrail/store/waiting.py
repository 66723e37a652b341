"""A coroutine that waits for the writer thread: told once, safely, whatever became of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from handrail.core.problems import Problem
from handrail.store.refusals import raised


class Waiter:
    """Made in the coroutine's own thread, told in the writer's, where `at_once` is called
    first if all went well.
    """

    __slots__ = ("at_once", "future", "loop")

    def __init__(self, at_once: Callable[[], None] | None = None) -> None:
        self.at_once = at_once
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()


def tell(waiters: Iterable[Waiter], outcome: Any) -> None:
    """Give every waiter the outcome; a Problem is raised where it waits."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Waiter]] = {}
    for waiter in waiters:
        if waiter.at_once is not None and not isinstance(outcome, Problem):
            waiter.at_once()
        by_loop.setdefault(waiter.loop, []).append(waiter)
    for loop, its_waiters in by_loop.items():
        # The loop may have been closed in the meantime; then nobody waits any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, its_waiters, outcome)


def _settle(waiters: list[Waiter], outcome: Any) -> None:
    for waiter in waiters:
        if waiter.future.done():
            continue
        if isinstance(outcome, Problem):
            waiter.future.set_exception(raised(outcome))
        else:
            waiter.future.set_result(outcome)
