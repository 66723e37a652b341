"""What is put on the writer's queue, and what of it goes into one transaction."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from handrail.core.ports.records import Durability
from handrail.core.problems import Problem
from handrail.store.sqlite.errors import problem_error
from handrail.store.sqlite.row_encoding import EncodedRow, SealedRow


class Waiter:
    """Made in the coroutine's own thread, told in the writer's, where `at_once` is called
    first if all went well.
    """

    __slots__ = ("at_once", "future", "loop")

    def __init__(self, at_once: Callable[[], None] | None = None) -> None:
        self.at_once = at_once
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()


def resolve_waiters(waiters: Iterable[Waiter], outcome: Any) -> None:
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
            waiter.future.set_exception(problem_error(outcome))
        else:
            waiter.future.set_result(outcome)


class SessionValue(NamedTuple):
    """A value to be kept with a session, already JSON: its owner goes on changing it."""

    session: str
    key: str
    value: str


class AwaitedRow(NamedTuple):
    """A row somebody waits for (None: for all rows before)."""

    row: EncodedRow | None
    durability: Durability
    waiter: Waiter


@dataclass(frozen=True, slots=True)
class ConnectionTask:
    """Something else to do on the connection, after all that was queued before it.

    `last` ends the thread, whether or not the work could be done.
    """

    work: Callable[[sqlite3.Connection], Any]
    waiter: Waiter | None
    writes: bool = False
    last: bool = False


Item = EncodedRow | SessionValue | AwaitedRow | ConnectionTask


class WriteBatch:
    """What goes into the next transaction."""

    def __init__(self) -> None:
        self.entries: list[SealedRow] = []
        self.state: dict[tuple[str, str], str] = {}
        self.intents: set[int] = set()
        self.waiters: list[Waiter] = []
        self.durability: Durability = "process"

    def __bool__(self) -> bool:
        return bool(self.entries or self.state)

    def keep_accepted(self) -> None:
        """Drop the intents, whose callers are told; keep what was taken on without waiting."""
        self.entries = [entry for at, entry in enumerate(self.entries) if at not in self.intents]
        self.intents = set()
        self.waiters = []
        self.durability = "process"
