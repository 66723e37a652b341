"""What is put on the writer's queue, and what of it goes into one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from handrail.core.records import Durability
from handrail.store.record import Entry, Packed
from handrail.store.waiting import Waiter


class State(NamedTuple):
    """A value to be kept with a session, already JSON: its owner goes on changing it."""

    session: str
    key: str
    value: str


class Commit(NamedTuple):
    """A row somebody waits for (None: for all rows before)."""

    row: Packed | None
    durability: Durability
    waiter: Waiter


@dataclass(frozen=True, slots=True)
class Act:
    """Something else to do on the connection, after all that was queued before it.

    `last` ends the thread, whether or not the work could be done.
    """

    work: Callable[[sqlite3.Connection], Any]
    waiter: Waiter | None
    writes: bool = False
    last: bool = False


Item = Packed | State | Commit | Act


class Batch:
    """What goes into the next transaction."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
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
