"""The one thread that touches the connection: takes what is queued, in order, in few commits.

What a caller was told to be refused is never written afterwards; what was accepted is held
in memory while the store fails, and written when it works again. An intent is the one row
that is dropped when its commit fails: its caller was told so, and has not acted.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Final

from handrail.core.ports.records import Durability
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.text.redact import may_hold_secrets
from handrail.store.chain.hashes import storable
from handrail.store.chain.ledger import LedgerWriter
from handrail.store.chain.live_guard import ChainGuard
from handrail.store.sqlite.connection import Database
from handrail.store.sqlite.errors import explain_error, unavailable_problem
from handrail.store.sqlite.row_encoding import EncodedRow, seal_row
from handrail.store.sqlite.write_queue import (
    AwaitedRow,
    ConnectionTask,
    Item,
    SessionValue,
    Waiter,
    WriteBatch,
    resolve_waiters,
)

GROUP_S: Final = 0.005
GROUP_ROWS: Final = 256
RETRY_S: Final = 1.0
MAX_HELD_ROWS: Final = 10_000
MAX_HELD_BYTES: Final = 64 << 20


class WriterThread:
    """Owns the connection and the queue; every other thread only puts items."""

    def __init__(self, database: Database, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.trouble: Problem | None = None
        self.ended = False
        self.refused = 0
        self._database = database
        self._guard = ChainGuard(database.path)
        self._now_ns = now_ns
        self._queue: SimpleQueue[Item] = SimpleQueue()
        self._bell = threading.Event()
        self._batch = WriteBatch()
        self._held_bytes = 0
        self._lively = False
        self._in_hand: list[Item] = []
        self._last: list[tuple[Waiter, Problem | None]] = []
        self.farewell = _closed(database.path)
        self._thread = threading.Thread(target=self._run, name="handrail-store", daemon=True)
        self._thread.start()
        # Bound here: `append` is measured in fractions of microseconds.
        self.put = self._queue.put
        self.backlog = self._queue.qsize

    @property
    def has_room(self) -> bool:
        """Whether one more row may be held while the store fails."""
        held = len(self._batch.entries) + self.backlog()
        return held < MAX_HELD_ROWS and self._held_bytes < MAX_HELD_BYTES

    def put_urgent(self, item: AwaitedRow | ConnectionTask) -> None:
        """Queue an item that is not to wait for the group to fill."""
        self.put(item)
        self._bell.set()
        if self.ended:
            # The thread may have looked at the queue for the last time before we put.
            self._turn_away()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the thread to end, unless it is the thread itself that asks."""
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            while not self.ended:
                self._round()
                self._in_hand = []
        finally:
            if not self.ended:
                # A bug of ours: nobody may wait for a thread that is gone.
                self.farewell = _crashed(self._database.path)
                self.ended = True
                for item in self._in_hand:
                    self.put(item)
            with contextlib.suppress(sqlite3.Error):
                self._database.db.close()
            for waiter, outcome in self._last:
                resolve_waiters([waiter], outcome)
            self._turn_away()

    def _round(self) -> None:
        self._in_hand = items = self._gather()
        act: ConnectionTask | None = None
        clean = not may_hold_secrets(item.body for item in items if isinstance(item, EncodedRow))
        for item in items:
            if isinstance(item, ConnectionTask):
                act = item
            else:
                self._take(item, clean=clean)
        asked = bool(act or self._batch.waiters)
        patient = asked or self.trouble is None
        problem = None
        # After a failure even an empty transaction is worth a try: it ends the trouble.
        if self._batch or (self.trouble and not act):
            problem = self._write(self._database.busy_timeout_s if patient else 0)
        if problem:
            self._fail(problem, act)
            return
        resolve_waiters(self._batch.waiters, None)
        self._batch = WriteBatch()
        if act:
            self._do(act)

    def _gather(self) -> list[Item]:
        first = self._next_of_many() if self._lively else None
        self._lively = first is not None
        if first is None:
            try:
                first = self._queue.get(timeout=RETRY_S if self.trouble else None)
            except Empty:
                return []
            self._lively = True
            if isinstance(first, EncodedRow | SessionValue):
                self._bell.wait(GROUP_S)
        self._bell.clear()
        items = [first]
        while len(items) < GROUP_ROWS and not isinstance(items[-1], ConnectionTask):
            try:
                items.append(self._queue.get_nowait())
            except Empty:
                return items
        # What is left may be urgent, and its bell is silenced: do not wait next time.
        self._bell.set()
        return items

    def _next_of_many(self) -> Item | None:
        """Where rows have come a moment ago, more will: the first of them wakes nobody up,
        which would stop whoever makes the calls, but is found when the group is due.
        """
        self._bell.wait(GROUP_S)
        try:
            return self._queue.get_nowait()
        except Empty:
            return None

    def _take(self, item: EncodedRow | SessionValue | AwaitedRow, *, clean: bool = False) -> None:
        batch = self._batch
        if isinstance(item, EncodedRow):
            batch.entries.append(seal_row(item, clean=clean))
        elif isinstance(item, AwaitedRow):
            self._take_commit(item)
        else:
            batch.state[storable(item.session), storable(item.key)] = item.value

    def _take_commit(self, item: AwaitedRow) -> None:
        batch = self._batch
        if item.row is not None:
            batch.intents.add(len(batch.entries))
            batch.entries.append(seal_row(item.row))
        if item.durability == "power":
            batch.durability = "power"
        batch.waiters.append(item.waiter)

    def _write(self, patience_s: float) -> Problem | None:
        batch = self._batch
        try:
            with self._writing(batch.durability, patience_s) as db:
                if batch:
                    chain = LedgerWriter(db)
                    chain.add_rows(batch.entries)
                    if batch.state:
                        chain.keep_values(batch.state, self._now_ns())
                    chain.save()
        except sqlite3.Error as error:
            return explain_error(error, self._database.path)
        except ProblemRaised as error:
            return error.problem
        self._held_bytes = 0
        self.trouble = None
        return None

    @contextlib.contextmanager
    def _writing(self, level: Durability, patience_s: float) -> Iterator[sqlite3.Connection]:
        """A write transaction, refused if somebody has changed the record behind us."""
        guard = self._guard
        with self._database.writing(level, patience_s) as db:
            guard.check(db)
            yield db
            seen = guard.look(db)
        guard.remember(seen)

    def _fail(self, problem: Problem, act: ConnectionTask | None) -> None:
        """Tell everybody who waits; hold the rest until the store works again."""
        self.trouble = problem
        waiting = [*self._batch.waiters]
        self._batch.keep_accepted()
        late: list[Item] = [act] if act else []
        # Whoever queued up behind the failure has waited as long; nobody waits twice.
        with contextlib.suppress(Empty):
            while True:
                late.append(self._queue.get_nowait())
        ending: list[Waiter] = []
        for item in late:
            if isinstance(item, EncodedRow | SessionValue):
                self._take(item)
                continue
            last = isinstance(item, ConnectionTask) and item.last
            self.ended = self.ended or last
            if item.waiter:
                (ending if last else waiting).append(item.waiter)
        self._limit_held()
        resolve_waiters(waiting, problem)
        self._last += [(waiter, self._with_losses(problem)) for waiter in ending]

    def _limit_held(self) -> None:
        entries = self._batch.entries
        self.refused += max(0, len(entries) - MAX_HELD_ROWS)
        del entries[MAX_HELD_ROWS:]
        self._held_bytes = sum(len(entry.body) for entry in entries)

    def _with_losses(self, problem: Problem) -> Problem:
        lost = len(self._batch.entries) + self.refused
        return replace(problem, message=f"{problem.message}; {lost} rows are lost with it")

    def _do(self, act: ConnectionTask) -> None:
        database = self._database
        try:
            if act.writes:
                with self._writing("process", database.busy_timeout_s) as db:
                    outcome = act.work(db)
            else:
                outcome = act.work(database.db)
        except sqlite3.Error as error:
            outcome = explain_error(error, database.path)
        except ProblemRaised as error:
            outcome = error.problem
        self.ended = act.last
        if act.waiter and act.last:
            # Told once the file is let go of.
            self._last.append((act.waiter, outcome))
        elif act.waiter:
            resolve_waiters([act.waiter], outcome)

    def _turn_away(self) -> None:
        problem = self.farewell
        with contextlib.suppress(Empty):
            while True:
                item = self._queue.get_nowait()
                if isinstance(item, AwaitedRow):
                    resolve_waiters([item.waiter], problem)
                elif isinstance(item, ConnectionTask) and item.waiter:
                    resolve_waiters([item.waiter], None if item.last else problem)
                elif isinstance(item, EncodedRow):
                    self.refused += 1


def _closed(path: str) -> Problem:
    return unavailable_problem(path, "it was closed", "open the workspace again", retryable=False)


def _crashed(path: str) -> Problem:
    return unavailable_problem(
        path,
        "its writer has failed by a bug of Handrail",
        "report the bug; open the workspace again",
        retryable=False,
    )
