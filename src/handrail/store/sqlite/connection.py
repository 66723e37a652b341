"""The SQLite connection: how it is opened, and how a write transaction starts and ends.

Never open and close the database file by other means than SQLite in a process that may hold it
open: POSIX drops all of a process's locks on a file when any handle of it is closed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from handrail.core.names.store_location import MEMORY, is_store_url
from handrail.core.ports.leases import Lease
from handrail.core.ports.records import Durability
from handrail.core.problems import ProblemRaised
from handrail.store.schema.migrations import (
    check_identity,
    latest_version,
    list_migrations,
    upgrade,
)
from handrail.store.sql import SqlConnection
from handrail.store.sqlite.errors import explain_error, is_busy, problem_error, unavailable_problem

T = TypeVar("T")


class Database:
    """One connection to one file, used by one thread at a time."""

    # Only a connection to a server can be lost during a commit.
    in_doubt = False

    def __init__(self, path: str, *, busy_timeout_s: float) -> None:
        self.location = self.path = path
        self.busy_timeout_s = busy_timeout_s
        self._level: Durability = "process"
        _make_file(path)
        try:
            self.db = self._open()
        except sqlite3.Error as error:
            raise problem_error(explain_error(error, path)) from error
        names = () if path == MEMORY else ("", "-wal", "-shm")
        self._files = {path + name: _identity(path + name) for name in names}

    @contextlib.contextmanager
    def writing(self, level: Durability, patience_s: float) -> Iterator[sqlite3.Connection]:
        """Run a write transaction: committed at the end of the block, rolled back if it fails."""
        if self.db.in_transaction:
            # The rollback of the last transaction failed.
            self.db.execute("ROLLBACK")
        self._set_level(level)
        retry_while_busy(lambda: self.db.execute("BEGIN IMMEDIATE"), patience_s)
        try:
            yield self.db
            self._check_files()
            self.db.execute("COMMIT")
        finally:
            if self.db.in_transaction:
                # A failed rollback does no harm: SQLite rolls back when the file is opened again.
                with contextlib.suppress(sqlite3.Error):
                    self.db.execute("ROLLBACK")

    def attempt(self, action: Callable[[], object], patience_s: float) -> None:
        """Run an action once: a file cannot be lost as a connection can."""
        action()

    def settle(self, patience_s: float) -> bool:
        """Do nothing: a commit is never in doubt."""
        return False

    def erase_deleted(self) -> None:
        """Overwrite deleted data from now on."""
        self.db.execute("PRAGMA secure_delete = ON")

    def shrink(self) -> bool:
        """Return free pages to the system; False if a reader keeps deleted data in the log."""
        # A script, because `execute` would stop after the first page.
        retry_while_busy(
            lambda: self.db.executescript("PRAGMA incremental_vacuum"), self.busy_timeout_s
        )
        busy = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def size_bytes(self) -> int:
        """The size of the file and its log."""
        return file_bytes(self.path)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(sqlite3.Error):
            self.db.close()

    def _open(self) -> sqlite3.Connection:
        # timeout=0, because `retry_while_busy` waits instead.
        db = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            retry_while_busy(lambda: self._prepare(db), self.busy_timeout_s)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        latest = latest_version()
        version = check_identity(db, self.path, latest)
        if version == 0:
            # Only possible before the first table: it lets `gc` return pages step by step.
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        # On macOS a plain fsync does not reach the disk.
        db.execute("PRAGMA fullfsync = ON")
        db.execute(f"PRAGMA journal_size_limit = {16 << 20}")
        if version < latest:
            upgrade(db, self.path, list_migrations())

    def _set_level(self, level: Durability) -> None:
        if level != self._level:
            name = "FULL" if level == "power" else "NORMAL"
            self.db.execute(f"PRAGMA synchronous = {name}")
            self._level = level

    def _check_files(self) -> None:
        # SQLite would continue to write to files that were removed or replaced. Checked as late as
        # possible, right before a commit is trusted.
        for file, identity in self._files.items():
            if _identity(file) != identity:
                problem = unavailable_problem(
                    self.path,
                    f"its file {Path(file).name!r} was removed or replaced while it was open",
                    "put the file back, or open the workspace again to start a new store",
                )
                raise problem_error(problem)


def file_bytes(path: str) -> int:
    """Return the size of the store's files together; 0 for a store in memory."""
    files = (Path(path), Path(f"{path}-wal"))
    return sum(file.stat().st_size for file in files if file.is_file())


def open_read_only(path: str) -> sqlite3.Connection:
    """Return a connection that cannot write, for a store to which others may be writing."""
    file = Path(path)
    if not file.is_file():
        raise problem_error(
            unavailable_problem(path, "there is no such file", "check the path", retryable=False)
        )
    address = file.absolute().as_uri() + "?mode=ro"
    try:
        return _open_snapshot(address, path)
    except sqlite3.Error as error:
        if Path(f"{path}-wal").exists():
            raise problem_error(explain_error(error, path)) from error
    try:
        # If this process may not create the files of an open store, and no process has the store
        # open, the store cannot change either; SQLite must be told so.
        return _open_snapshot(address + "&immutable=1", path)
    except sqlite3.Error as error:
        raise problem_error(explain_error(error, path)) from error


def _open_snapshot(address: str, path: str) -> sqlite3.Connection:
    db = sqlite3.connect(address, uri=True, timeout=5, isolation_level=None)
    try:
        db.execute("BEGIN")
        check_identity(db, path, latest_version())
    except (sqlite3.Error, ProblemRaised):
        db.close()
        raise
    return db


def retry_while_busy(action: Callable[[], T], patience_s: float) -> T:
    """Repeat an action while others hold the lock, with equal chances for all waiters, within the
    patience.

    SQLite's own waiting backs off more and more, so that the longest waiter tries least often;
    under eight writers that starves one of them.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
        # The clock's last digits serve as jitter, so that two waiters do not try in step.
        time.sleep(0.0003 + time.perf_counter_ns() % 1000 / 1e6)


def _make_file(path: str) -> None:
    if path == MEMORY:
        return
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            problem = unavailable_problem(
                path, "it is not a regular file", "choose another store", retryable=False
            )
            raise problem_error(problem)
    except FileNotFoundError:
        _create(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise problem_error(unavailable_problem(path, reason, "check its directory")) from error


def _create(path: str) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        reason = f"it cannot be created ({error.strerror})"
        hint = "make its directory first, writable for this user, or choose another store"
        raise problem_error(unavailable_problem(path, reason, hint)) from error


def _identity(file: str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - three for every commit; half the time of Path
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = f"its disk reports an error ({error.strerror})"
        raise problem_error(
            unavailable_problem(file, reason, "check the disk, then call again")
        ) from error
    return found.st_dev, found.st_ino


class LeaseReader:
    """Reads leases on a connection of its own, without waiting for the writer.

    The connection is opened at the first use and shared by all threads of the process. Only a file
    has such a connection: for a server the writer is asked.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._closed = path == MEMORY or is_store_url(path)

    def leases(self, now_ns: int) -> list[Lease] | None:
        """Return the active leases; None if the writer has to be asked. Never waits."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if self._closed:
                return None
            if self._db is None:
                self._db = self._open()
            return list_active_leases(self._db, now_ns)
        except sqlite3.Error:
            # Locked, damaged or missing: the writer waits, and reports the problem.
            return None
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection; afterwards `leases` returns None."""
        with self._lock:
            self._closed = True
            db, self._db = self._db, None
            if db is not None:
                with contextlib.suppress(sqlite3.Error):
                    db.close()

    def _open(self) -> sqlite3.Connection:
        address = f"{Path(self._path).as_uri()}?mode=ro"
        return sqlite3.connect(
            address, uri=True, timeout=0, isolation_level=None, check_same_thread=False
        )


def list_active_leases(db: SqlConnection, now_ns: int) -> list[Lease]:
    """Return the leases that have not expired, in the order in which they were acquired."""
    found = db.execute(
        "SELECT token, owner, glob, until_ns, fence, process FROM leases WHERE until_ns > ?"
        " ORDER BY fence",
        (now_ns,),
    )
    return [Lease(*row) for row in found]
