"""The only thread that uses the connection: it takes the queued items in order and writes them in
few commits.

A row whose caller got an error is never written later. An accepted row is held in memory while the
store fails, and written when it works again. Only an intent is dropped when its commit fails: its
caller gets the error and does not act.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, Final

from handrail.core.ports.records import Durability
from handrail.core.problems import Problem, ProblemRaised
from handrail.store.chain.encoding import (
    EncodedRow,
    SealedRow,
    may_hold_secrets,
    seal_row,
    storable_name,
)
from handrail.store.chain.ledger import ChainEnd, ChainGuard, LedgerWriter
from handrail.store.doubtful_batch import DoubtfulBatch
from handrail.store.opening import find_chain_break
from handrail.store.sql import RecordDatabase, SqlConnection
from handrail.store.sqlite.errors import (
    closed_problem,
    crashed_problem,
    explain_error,
    problem_error,
)


class Waiter:
    """A coroutine that waits for the writer. On success `at_once` is called in the writer's thread
    before the coroutine resumes.
    """

    __slots__ = ("at_once", "future", "loop")

    def __init__(self, at_once: Callable[[], None] | None = None) -> None:
        self.at_once = at_once
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()


def resolve_waiters(waiters: Iterable[Waiter], outcome: Any) -> None:
    """Give every waiter the outcome; a Problem is raised in the waiting coroutine."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Waiter]] = {}
    for waiter in waiters:
        if waiter.at_once is not None and not isinstance(outcome, Problem):
            waiter.at_once()
        by_loop.setdefault(waiter.loop, []).append(waiter)
    for loop, its_waiters in by_loop.items():
        # If the event loop was closed meanwhile, nothing waits any more.
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


@dataclass(slots=True, eq=False)
class SessionValue:
    """A value to be kept with a session. It is JSON, because its owner may change the original."""

    session: str
    key: str
    value: str


@dataclass(slots=True, eq=False)
class AwaitedRow:
    """A row that a coroutine waits for; if the row is None, it waits for all rows before."""

    row: EncodedRow | None
    durability: Durability
    waiter: Waiter


@dataclass(slots=True, eq=False)
class ConnectionTask:
    """Other work on the connection, done after everything that was queued before it.

    `last` ends the thread, whether or not the work could be done.
    """

    work: Callable[[SqlConnection], Any]
    waiter: Waiter | None
    writes: bool = False
    last: bool = False


# A queued item. Only rows are tuples, so `isinstance(item, tuple)` recognises a row.
Item = EncodedRow | SessionValue | AwaitedRow | ConnectionTask


class WriteBatch:
    """The contents of the next transaction."""

    def __init__(self) -> None:
        self.entries: list[SealedRow] = []
        self.state: dict[tuple[str, str], str] = {}
        self.intents: set[int] = set()
        self.waiters: list[Waiter] = []
        self.durability: Durability = "process"

    def __bool__(self) -> bool:
        return bool(self.entries or self.state)

    def keep_accepted(self) -> None:
        """Drop the intents, whose callers get the error; keep the rows accepted without waiting."""
        self.entries = [entry for at, entry in enumerate(self.entries) if at not in self.intents]
        self.intents = set()
        self.waiters = []
        self.durability = "process"


@dataclass(slots=True)
class WriteTransaction:
    """An open transaction, and the end of the chain when it began. `chain` wrote to it; None if
    other work did.
    """

    db: SqlConnection
    end: ChainEnd
    chain: LedgerWriter | None = None


GROUP_S: Final = 0.01
GROUP_ROWS: Final = 256
RETRY_S: Final = 1.0
MAX_HELD_ROWS: Final = 10_000
MAX_HELD_BYTES: Final = 64 << 20


class WriterThread:
    """Owns the connection and the queue; other threads only put items into the queue."""

    def __init__(self, database: RecordDatabase, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.trouble: Problem | None = None
        self.ended = False
        self.refused = 0
        self._database = database
        self._guard = ChainGuard(database.location, find_chain_break)
        self._now_ns = now_ns
        self._queue: SimpleQueue[Item] = SimpleQueue()
        self._bell = threading.Event()
        self._batch = WriteBatch()
        self._doubtful: DoubtfulBatch | None = None
        self._held_bytes = 0
        self._lively = False
        self._in_hand: list[Item] = []
        self._last: list[tuple[Waiter, Problem | None]] = []
        self.farewell = closed_problem(database.location)
        self._thread = threading.Thread(target=self._run, name="handrail-store", daemon=True)
        self._thread.start()
        # Bound here, because `append` takes fractions of a microsecond.
        self.put = self._queue.put
        self.backlog = self._queue.qsize

    @property
    def has_room(self) -> bool:
        """Return whether one more row may be held while the store fails."""
        held = len(self._batch.entries) + self.backlog()
        return held < MAX_HELD_ROWS and self._held_bytes < MAX_HELD_BYTES

    def put_urgent(self, item: AwaitedRow | ConnectionTask) -> None:
        """Queue an item, and write at once instead of waiting for the group to fill."""
        self.put(item)
        self._bell.set()
        if self.ended:
            # The thread may have emptied the queue for the last time before this item was put.
            self._turn_away()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the thread to end; returns at once in the thread itself."""
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            while not self.ended:
                self._round()
                self._in_hand = []
        finally:
            if not self.ended:
                # An internal error: no caller may wait for a thread that has ended.
                self.farewell = crashed_problem(self._database.location)
                self.ended = True
                for item in self._in_hand:
                    self.put(item)
            self._database.close()
            for waiter, outcome in self._last:
                resolve_waiters([waiter], outcome)
            self._turn_away()

    def _round(self) -> None:
        self._in_hand = items = self._gather()
        act: ConnectionTask | None = None
        bodies = []
        for item in items:
            row = item.row if isinstance(item, AwaitedRow) else item
            if isinstance(row, tuple):
                bodies.append(row[-1])
        clean, entries = not may_hold_secrets(bodies), self._batch.entries
        for item in items:
            if isinstance(item, tuple):
                entries.append(seal_row(item, clean=clean))
            elif isinstance(item, ConnectionTask):
                act = item
            else:
                self._take(item, clean=clean)
        asked = bool(act or self._batch.waiters)
        patient = asked or self.trouble is None
        problem = None
        # After a failure an empty transaction is tried too, because its success ends the failure.
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
            if isinstance(first, tuple | SessionValue):
                self._bell.wait(GROUP_S)
        self._bell.clear()
        items = [first]
        while len(items) < GROUP_ROWS and not isinstance(items[-1], ConnectionTask):
            try:
                items.append(self._queue.get_nowait())
            except Empty:
                return items
        # The remaining items may be urgent, and the event was cleared: do not wait next time.
        self._bell.set()
        return items

    def _next_of_many(self) -> Item | None:
        """After recent activity poll instead of waking per row: a wake-up would preempt the
        calling thread.
        """
        self._bell.wait(GROUP_S)
        try:
            return self._queue.get_nowait()
        except Empty:
            return None

    def _take(self, item: EncodedRow | SessionValue | AwaitedRow, *, clean: bool = False) -> None:
        batch = self._batch
        if isinstance(item, tuple):
            batch.entries.append(seal_row(item, clean=clean))
        elif isinstance(item, AwaitedRow):
            self._take_commit(item, clean=clean)
        else:
            batch.state[storable_name(item.session), storable_name(item.key)] = item.value

    def _take_commit(self, item: AwaitedRow, *, clean: bool) -> None:
        batch = self._batch
        if item.row is not None:
            batch.intents.add(len(batch.entries))
            batch.entries.append(seal_row(item.row, clean=clean))
        if item.durability == "power":
            batch.durability = "power"
        batch.waiters.append(item.waiter)

    def _write(self, patience_s: float) -> Problem | None:
        database = self._database
        try:
            if self._doubtful is not None:
                if database.settle(patience_s):
                    self._doubtful.leave_out(self._batch)
                self._doubtful = None
            database.attempt(lambda: self._write_batch(patience_s), patience_s)
        except sqlite3.Error as error:
            return explain_error(error, self._database.location)
        except ProblemRaised as error:
            return error.problem
        self._held_bytes = 0
        self.trouble = None
        return None

    def _write_batch(self, patience_s: float) -> None:
        batch = self._batch
        with self._writing(batch.durability, patience_s) as transaction:
            if batch:
                chain = transaction.chain = LedgerWriter(transaction.db, transaction.end)
                chain.add_rows(batch.entries)
                if batch.state:
                    chain.keep_values(batch.state, self._now_ns())
                chain.save()

    @contextlib.contextmanager
    def _writing(self, level: Durability, patience_s: float) -> Iterator[WriteTransaction]:
        """Run a write transaction; refused if another process has tampered with the record."""
        guard = self._guard
        guard.check_others(self._database.db)
        with self._database.writing(level, patience_s) as db:
            transaction = WriteTransaction(db, guard.check(db).end)
            yield transaction
            seen = guard.look(db, transaction.chain)
        guard.remember(seen)

    def _fail(self, problem: Problem, act: ConnectionTask | None) -> None:
        """Raise the problem in all waiters; hold the other rows until the store works again."""
        self.trouble = problem
        waiting = [*self._batch.waiters]
        self._batch.keep_accepted()
        if self._database.in_doubt and self._doubtful is None:
            self._doubtful = DoubtfulBatch(len(self._batch.entries), dict(self._batch.state))
        late: list[Item] = [act] if act else []
        # Waiters queued behind the failure have waited as long, so they do not wait again.
        with contextlib.suppress(Empty):
            while True:
                late.append(self._queue.get_nowait())
        ending: list[Waiter] = []
        for item in late:
            if isinstance(item, tuple | SessionValue):
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
        self._held_bytes = sum(len(entry[-1]) for entry in entries)

    def _with_losses(self, problem: Problem) -> Problem:
        lost = len(self._batch.entries) + self.refused
        return replace(problem, message=f"{problem.message}; {lost} rows are lost with it")

    def _do(self, act: ConnectionTask) -> None:
        database, outcome = self._database, None

        def work() -> None:
            nonlocal outcome
            if not act.writes:
                outcome = act.work(database.db)
                return
            with self._writing("process", database.busy_timeout_s) as transaction:
                outcome = act.work(transaction.db)

        try:
            database.attempt(work, database.busy_timeout_s)
        except sqlite3.Error as error:
            outcome = explain_error(error, database.location)
        except ProblemRaised as error:
            outcome = error.problem
        self.ended = act.last
        if act.waiter and act.last:
            # Resolved once the file is closed.
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
                elif isinstance(item, tuple):
                    self.refused += 1
