"""A store on PostgreSQL: how it is opened, how a write transaction starts and ends, and what
happens when the connection is lost during one.

A lock on the table `chain_end` serialises writers, so each sees everything committed before. Every
transaction notes its number in `writers`. If the connection is lost during a commit, the number
shows afterwards whether it was committed, so no row is lost or written twice.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from handrail.core.names.store_location import shown_location
from handrail.core.problems import ProblemRaised
from handrail.store.postgres.server_connection import PostgresConnection
from handrail.store.postgres.server_errors import LostConnection
from handrail.store.schema.postgres_migrations import check_identity, upgrade

if TYPE_CHECKING:
    from handrail.core.ports.records import Durability
    from handrail.store.sql import SqlConnection

# The pause between two attempts to reach the server.
_PAUSE_S: Final = 0.1
# A server that does not answer for this time beyond the patience is taken for lost: it may be
# frozen, with its connections open.
_SILENCE_S: Final = 15.0
_NOTE: Final = (
    "INSERT INTO writers (name, number, at_ns) VALUES (?, ?, ?) ON CONFLICT (name)"
    " DO UPDATE SET number = excluded.number, at_ns = excluded.at_ns"
)
# The notes of stores that were not closed are deleted after this time.
_KEPT_NS: Final = 30 * 86_400 * 10**9
# The channel on which listeners learn that the record has grown.
ROWS_CHANNEL: Final = "handrail_rows"
# Tables whose rows are deleted or replaced.
_SHRUNK: Final = (
    *("payloads", "contents", "content_uses", "dead_letters", "session_state"),
    *("questions", "writers"),
)


class PostgresDatabase:
    """One connection to one store, restored when it was lost; used by one thread at a time."""

    def __init__(self, url: str, *, busy_timeout_s: float) -> None:
        self.location = shown_location(url)
        self.busy_timeout_s = busy_timeout_s
        self._url = url
        self._name = os.urandom(8).hex()
        self._number = 0
        # The number of the transaction whose commit was sent but not confirmed.
        self._doubt: int | None = None
        self._connection = self._connect(time.monotonic() + busy_timeout_s)

    @property
    def db(self) -> SqlConnection:
        """The connection."""
        return self._connection

    @property
    def in_doubt(self) -> bool:
        """Whether it is unknown if the last transaction was committed."""
        return self._doubt is not None

    @contextlib.contextmanager
    def writing(self, level: Durability, patience_s: float) -> Iterator[SqlConnection]:
        """Run a write transaction. It is as durable as the server's commits
        (`synchronous_commit`).
        """
        connection = self._connection
        if connection.in_transaction:
            # The rollback of the last transaction failed.
            connection.run("ROLLBACK")
        self._begin(patience_s)
        try:
            yield connection
            self._number += 1
            connection.execute(_NOTE, (self._name, self._number, time.time_ns()))
            connection.run(f"NOTIFY {ROWS_CHANNEL}")
            self._doubt = self._number
            try:
                with connection.expect_answer(patience_s + _SILENCE_S):
                    connection.run("COMMIT")
            except LostConnection:
                raise
            except BaseException:
                self._doubt = None
                raise
            self._doubt = None
        finally:
            if connection.in_transaction:
                with contextlib.suppress(ProblemRaised):
                    connection.run("ROLLBACK")

    def attempt(self, action: Callable[[], object], patience_s: float) -> None:
        """Run an action that may write in one transaction. After a lost connection it runs again,
        unless its transaction was committed. Raises `store_unavailable` if the server cannot be
        reached within the patience.
        """
        deadline = time.monotonic() + patience_s
        while True:
            try:
                self._reconnect(deadline)
                self._doubt = None
                action()
                return
            except LostConnection:
                if self.in_doubt and self.settle(max(0.0, deadline - time.monotonic())):
                    return
                if time.monotonic() >= deadline:
                    raise

    def settle(self, patience_s: float) -> bool:
        """Find out whether the last transaction was committed, if that is in doubt."""
        if self._doubt is None:
            return False
        deadline = time.monotonic() + patience_s
        while True:
            try:
                self._reconnect(deadline)
                # The server may still be executing that commit: once this lock is held, it has
                # ended.
                self._begin(max(0.0, deadline - time.monotonic()))
                noted = self._connection.execute(
                    "SELECT number FROM writers WHERE name = ?", (self._name,)
                ).fetchone()
                self._connection.run("ROLLBACK")
            except LostConnection:
                if time.monotonic() >= deadline:
                    raise
            else:
                committed = noted is not None and noted[0] == self._doubt
                self._doubt = None
                return committed

    def erase_deleted(self) -> None:
        """Do nothing: PostgreSQL has no such mode; see `shrink`."""

    def shrink(self) -> bool:
        """Let the server reuse the space of deleted rows. Their content stays in its files and its
        log until they are overwritten.
        """
        connection = self._connection
        connection.execute("DELETE FROM writers WHERE at_ns < ?", (time.time_ns() - _KEPT_NS,))
        for table in _SHRUNK:
            connection.run(f"VACUUM {table}")
        return False

    def size_bytes(self) -> int:
        """The bytes of all tables of the store with their indexes."""
        return measure_bytes(self._connection)

    def close(self) -> None:
        """Close the connection."""
        # A role that is not allowed to delete leaves its note.
        with contextlib.suppress(ProblemRaised):
            if self._doubt is None and self._connection.is_open:
                self._connection.execute("DELETE FROM writers WHERE name = ?", (self._name,))
        self._connection.close()

    def _begin(self, patience_s: float) -> None:
        wait_ms = max(1, int(patience_s * 1000))
        connection = self._connection
        try:
            with connection.expect_answer(patience_s + _SILENCE_S):
                connection.run(
                    f"BEGIN; SET LOCAL lock_timeout = {wait_ms};"
                    " LOCK TABLE chain_end IN EXCLUSIVE MODE; SET LOCAL lock_timeout = 0"
                )
        except ProblemRaised:
            if connection.in_transaction:
                connection.run("ROLLBACK")
            raise

    def _reconnect(self, deadline: float) -> None:
        if not self._connection.is_open:
            self._connection = self._connect(deadline)

    def _connect(self, deadline: float) -> PostgresConnection:
        """Return a new connection; tries until the deadline, because a server may be restarting."""
        while True:
            try:
                return self._open_connection()
            except LostConnection:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE_S)

    def _open_connection(self) -> PostgresConnection:
        connection = PostgresConnection(self._url, timeout_s=self.busy_timeout_s)
        try:
            upgrade(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def open_snapshot(url: str) -> PostgresConnection:
    """Return a connection that cannot write and sees one state of the store."""
    connection = PostgresConnection(url, timeout_s=5)
    try:
        connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        check_identity(connection, must_exist=True)
    except BaseException:
        connection.close()
        raise
    return connection


def measure_bytes(connection: SqlConnection) -> int:
    """The bytes of the tables of a store with their indexes."""
    size: int = connection.execute(
        "SELECT coalesce(sum(pg_total_relation_size(format('%I.%I', current_schema(), name))), 0)"
        "::bigint FROM sqlite_master WHERE type = 'table'"
    ).fetchone()[0]
    return size
