"""The store as the engine sees it, on either database. The writer thread does all the work, except
for `leases` on a file, which is called before every change.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from handrail.core.ports.records import (
    AbandonedWork,
    CallClaim,
    CallRecord,
    Durability,
    OpenedSession,
    Row,
    SessionRecord,
    Trace,
    Where,
)
from handrail.core.problems import Problem, ProblemRaised
from handrail.store.chain.encoding import (
    EncodedRow,
    describe_encoding_error,
    encode_info,
    encode_json,
    encode_row,
    encode_row_or_error,
    storable_name,
)
from handrail.store.forks import FORK_COUNTER
from handrail.store.opening import open_database
from handrail.store.records import calls, failed_calls, leases, sessions, traces, unfinished
from handrail.store.sql import RecordDatabase, SqlConnection
from handrail.store.sqlite.connection import LeaseReader, list_active_leases
from handrail.store.sqlite.errors import problem_error, unavailable_problem
from handrail.store.sqlite.writer import (
    MAX_HELD_ROWS,
    AwaitedRow,
    ConnectionTask,
    SessionValue,
    Waiter,
    WriterThread,
)

if TYPE_CHECKING:
    from handrail.core.failed_calls import (
        FailedCall,
        FailedCallChange,
        FailedCallState,
        NewFailedCall,
    )
    from handrail.core.ports.leases import Lease, Reservation
    from handrail.store.records.purge import StoreSizes

T = TypeVar("T")


def open_store(
    location: str | Path,
    *,
    busy_timeout_s: float = 5.0,
    now_ns: Callable[[], int] = time.time_ns,
) -> RecordStore:
    """Open the store in this file, created (0600) or migrated if necessary, or in the PostgreSQL
    database of a URL; ":memory:" stores nothing on disk. The directory must exist. Raises
    `store_unavailable` for one that is damaged, not a store, or of a newer Handrail; it is not changed.
    """
    return RecordStore(open_database(location, busy_timeout_s=busy_timeout_s), now_ns)


class RecordStore:
    """Implements `Store`. Made by `open_store`; belongs to the process that opened it.

    While the store fails, `append` holds the row in memory (up to 10,000 rows or 64 MB) and raises
    `store_unavailable`, so that the record is complete once the store works again; each append,
    commit and flush, and a timer, try again. A row given to `commit` is dropped when `commit`
    raises: the side effect that it announced must not happen.
    """

    def __init__(self, database: RecordDatabase, now_ns: Callable[[], int]) -> None:
        self.path = database.location
        self._database = database
        self._now_ns = now_ns
        self._writer = WriterThread(database, now_ns)
        self._reader = LeaseReader(database.location)
        self._pid = os.getpid()
        self._forks = FORK_COUNTER.forks
        self._opened: dict[str, str] = {}
        # At exit, and when the store is garbage-collected, the writer finishes the queue and ends.
        self._finalizer = weakref.finalize(
            self, _end_writer, self._writer, self._reader, self._opened, now_ns
        )

    @property
    def refused_rows(self) -> int:
        """How many rows were dropped because there was no room while the store failed."""
        return self._writer.refused

    def append(self, row: Row) -> None:
        """Queue a row as it is now; raises `store_unavailable` if the store has failed."""
        writer = self._writer
        packed = encode_row_or_error(row)
        if (
            writer.trouble is None
            and not writer.ended
            and FORK_COUNTER.forks == self._forks
            and writer.backlog() < MAX_HELD_ROWS
        ):
            writer.put(packed)
        else:
            self._append_while_failing(packed)

    async def commit(
        self, row: Row, durability: Durability, at_once: Callable[[], None] | None = None
    ) -> None:
        """Queue a row as it is now; return once it, and all rows before it, are on disk. `at_once`
        is called then in the writer's thread, before any other caller is notified.
        """
        try:
            packed = encode_row(row)
        except Exception as error:
            raise problem_error(_not_json_problem(row, error)) from error
        await self._wait(partial(AwaitedRow, packed, durability), at_once)

    async def flush(self) -> None:
        """Return once everything queued so far is committed."""
        await self._wait(partial(AwaitedRow, None, "process"))

    async def open_session(
        self,
        session: str,
        info: Mapping[str, Any],
        owner: str = "",
        is_alive: Callable[[str], bool] | None = None,
    ) -> bool:
        """See `Store.open_session`."""
        session, text, now_ns = storable_name(session), encode_info(info), self._now_ns
        # Noted first: if the caller is cancelled meanwhile, `aclose` still closes the session.
        self._opened[session] = owner
        try:
            return await self._ask(
                lambda db: sessions.begin_session(db, session, text, now_ns(), owner, is_alive),
                writes=True,
            )
        except ProblemRaised:
            self._opened.pop(session, None)
            raise

    async def close_session(self, session: str) -> None:
        """Write the session's head into the chain of sessions, if this store opened it."""
        session, now_ns = storable_name(session), self._now_ns
        if session in self._opened:
            opened = {session: self._opened[session]}
            await self._ask(lambda db: sessions.end_sessions(db, opened, now_ns()), writes=True)
            self._opened.pop(session, None)

    async def find_completed(self, session: str, call_id: str) -> CallRecord | None:
        """Return the record of a completed call by id, to answer a repeated call."""
        key = storable_name(session), storable_name(call_id)
        return await self._ask(lambda db: calls.find_completed(db, *key))

    async def claim(
        self, session: str, call_id: str, fingerprint: str, owner: str
    ) -> CallClaim | None:
        """Claim an id for a call, across all processes; return None if the caller now owns it."""
        key, now_ns = (storable_name(session), storable_name(call_id)), self._now_ns
        return await self._ask(
            lambda db: calls.claim_call_id(db, *key, fingerprint, owner, now_ns()), writes=True
        )

    async def take_over(self, session: str, call_id: str, dead: str, owner: str) -> bool:
        """Take over an id whose owner has died; return False if another process was first."""
        key = storable_name(session), storable_name(call_id)
        return await self._ask(lambda db: calls.take_over_claim(db, *key, dead, owner), writes=True)

    async def reserve(
        self, owner: str, globs: Sequence[str], ttl_ns: int, process: str
    ) -> Reservation:
        """See `Leases.reserve`."""
        now_ns = self._now_ns
        return await self._ask(
            lambda db: leases.acquire_leases(db, owner, globs, now_ns(), ttl_ns, process),
            writes=True,
        )

    async def release(self, owner: str, tokens: Sequence[str]) -> Sequence[str]:
        """See `Leases.release`."""
        return await self._ask(lambda db: leases.release_leases(db, owner, tokens), writes=True)

    async def leases(self) -> Sequence[Lease]:
        """See `Leases.leases`."""
        self._check_usable()
        now_ns = self._now_ns
        known = self._reader.leases(now_ns()) if self._writer.trouble is None else None
        if known is not None:
            return known
        return await self._ask(lambda db: list_active_leases(db, now_ns()))

    async def record_failed_call(self, call: NewFailedCall) -> None:
        now_ns = self._now_ns
        await self._ask(lambda db: failed_calls.insert_failed_call(db, call, now_ns()), writes=True)

    async def failed_calls(self, state: FailedCallState | None = None) -> Sequence[FailedCall]:
        return await self._ask(lambda db: failed_calls.list_failed_calls(db, state))

    async def failed_call(self, id: int) -> FailedCall | None:
        return await self._ask(lambda db: failed_calls.find_failed_call(db, id))

    async def change_failed_call(self, seen: FailedCall, to: FailedCallChange) -> bool:
        now_ns = self._now_ns
        return await self._ask(
            lambda db: failed_calls.set_failed_call_state(db, seen, to, now_ns()), writes=True
        )

    async def calls(
        self,
        *,
        session: str | None = None,
        call_id: str | None = None,
        limit: int = 50,
        before_ns: int | None = None,
        agent: str | None = None,
    ) -> list[CallRecord]:
        """Return calls, newest first; only those of `agent` if it is given."""
        ids = [None if one is None else storable_name(one) for one in (session, call_id)]
        wanted = partial(calls.list_calls, agent=agent)
        return await self._ask(lambda db: wanted(db, ids[0], ids[1], limit, before_ns))

    async def traces(
        self,
        *,
        session: str | None = None,
        call_id: str | None = None,
        turn: int | None = None,
        before: int | None = None,
        limit: int = -1,
    ) -> list[Trace]:
        """The calls that announced a change, newest first; `before` is a row, for the next page."""
        wanted = traces.TraceFilter(
            None if session is None else storable_name(session),
            None if call_id is None else storable_name(call_id),
            turn,
            before,
        )
        return await self._ask(lambda db: traces.list_traces(db, wanted, limit))

    async def payload(self, row: int) -> Mapping[str, Any]:
        """Return the payload of one row."""
        return await self._ask(lambda db: calls.load_payload(db, row))

    async def old_contents(self, row: int) -> Mapping[Where, str]:
        """Return the old contents that are in one row itself, by their position in it."""
        return await self._ask(lambda db: traces.load_contents(db, row))

    async def openings(self) -> list[OpenedSession]:
        """Return when and where sessions were opened, oldest first."""
        return await self._ask(traces.list_openings)

    async def unfinished(self) -> list[CallRecord]:
        """Return the calls that announced a change and have no completion."""
        now_ns = self._now_ns
        return await self._ask(lambda db: unfinished.list_unfinished(db, now_ns()), writes=True)

    async def abandoned(self, is_alive: Callable[[str], bool]) -> AbandonedWork:
        """See `Store.abandoned`."""
        opened = dict(self._opened)
        return await self._ask(lambda db: unfinished.find_abandoned(db, is_alive, opened))

    async def close_abandoned(self, is_alive: Callable[[str], bool]) -> list[str]:
        """See `Store.close_abandoned`."""
        now_ns = self._now_ns
        return await self._ask(
            lambda db: unfinished.close_abandoned(db, now_ns(), is_alive), writes=True
        )

    async def sessions(self, limit: int = 20) -> list[SessionRecord]:
        """Return sessions, most recently opened first."""
        return await self._ask(lambda db: calls.list_sessions(db, limit))

    async def parts_of_calls(
        self, session: str, name: str, after_seq: int
    ) -> tuple[int, list[Any]]:
        """See `Store.parts_of_calls`."""
        session = storable_name(session)
        return await self._ask(lambda db: calls.load_parts(db, session, name, after_seq))

    async def load_state(self, session: str) -> dict[str, Any]:
        """Return what a named session kept (turn counter, read state)."""
        session = storable_name(session)
        return await self._ask(lambda db: calls.load_state(db, session))

    def save_state(self, session: str, key: str, value: Any) -> None:
        """Queue a value to be kept with a named session; it is held like a row if that fails."""
        self._check_usable()
        self._writer.put(SessionValue(session, key, encode_json(value).decode()))

    async def sizes(self) -> StoreSizes:
        """Return how much the store contains and how large its files are."""
        from handrail.store.records.purge import measure_store

        size_bytes = self._database.size_bytes
        return await self._ask(lambda db: measure_store(db, size_bytes()))

    async def aclose(self) -> None:
        """Close the sessions, commit the queue and close the file.

        Raises `store_unavailable` if rows are lost because the store has failed; the file is closed
        in any case. Closing again does nothing.
        """
        if self._writer.ended or FORK_COUNTER.forks != self._forks:
            return
        # The reader comes first: the last connection to close cleans up, and must be able to write.
        self._reader.close()
        work = partial(_close_all, opened=self._opened, now_ns=self._now_ns)
        writes = bool(self._opened)
        await self._wait(lambda waiter: ConnectionTask(work, waiter, writes=writes, last=True))

    async def _ask(self, work: Callable[[SqlConnection], T], *, writes: bool = False) -> T:
        # `work` must not refer to the store: the writer releases `work` only after answering, and a
        # store that is garbage-collected in between would be ended from its own thread.
        outcome: T = await self._wait(lambda waiter: ConnectionTask(work, waiter, writes=writes))
        return outcome

    async def _wait(
        self,
        item: Callable[[Waiter], AwaitedRow | ConnectionTask],
        at_once: Callable[[], None] | None = None,
    ) -> Any:
        self._check_usable()
        waiter = Waiter(at_once)
        self._writer.put_urgent(item(waiter))
        return await waiter.future

    def _append_while_failing(self, row: EncodedRow) -> None:
        self._check_usable()
        writer = self._writer
        deadline = time.monotonic() + 0.25
        while writer.trouble is None and writer.backlog() >= MAX_HELD_ROWS:
            # Rows arrive faster than the disk writes them: let the writer catch up.
            if time.monotonic() >= deadline:
                writer.refused += 1
                raise problem_error(_backlog_problem(self.path))
            time.sleep(0.001)
        problem = writer.trouble
        if problem is not None and not writer.has_room:
            writer.refused += 1
            raise problem_error(problem)
        writer.put(row)
        if problem is not None:
            raise problem_error(problem)

    def _check_usable(self) -> None:
        if FORK_COUNTER.forks != self._forks:
            raise problem_error(_forked_problem(self.path, self._pid))
        if self._writer.ended:
            raise problem_error(self._writer.farewell)


def _close_all(db: SqlConnection, opened: dict[str, str], now_ns: Callable[[], int]) -> None:
    sessions.end_sessions(db, dict(opened), now_ns())


def _end_writer(
    writer: WriterThread,
    reader: LeaseReader,
    opened: dict[str, str],
    now_ns: Callable[[], int],
) -> None:
    reader.close()
    work = partial(_close_all, opened=opened, now_ns=now_ns)
    writer.put_urgent(ConnectionTask(work, None, writes=bool(opened), last=True))
    writer.join(10)


def _not_json_problem(row: Row, error: Exception) -> Problem:
    message = f"the {row.kind} row of call {row.call_id!r} has no JSON form: {describe_encoding_error(error)}"
    return Problem("internal", message, "report this as a bug of Handrail")


def _backlog_problem(path: str) -> Problem:
    return unavailable_problem(
        path,
        f"{MAX_HELD_ROWS} rows wait to be written and its disk does not keep up",
        "call again in a moment",
    )


def _forked_problem(path: str, owner: int) -> Problem:
    return unavailable_problem(
        path,
        f"process {owner} opened it, and this is its forked child {os.getpid()}",
        "open the workspace again in the child",
        retryable=False,
    )
