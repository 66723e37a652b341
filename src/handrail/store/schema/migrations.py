"""Migrates a file to the schema of this version: numbered steps, each in one transaction.

A file that is not a Handrail store, or that a newer Handrail has written, is refused untouched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from handrail.store.sqlite.errors import problem_error, unavailable_problem

# "HRai" in SQLite's header, which identifies the database, also for `file`.
APPLICATION_ID: Final = 0x48526169


class Migration(NamedTuple):
    """One migration: the version it leads to and its SQL."""

    version: int
    sql: str


def list_migrations() -> list[Migration]:
    """All migrations in order, from the .sql files beside this module."""
    found = sorted(Path(__file__).parent.glob("*.sql"))
    return [Migration(int(path.name[:4]), path.read_text("utf-8")) for path in found]


def latest_version() -> int:
    """Return the version that the last migration leads to, without reading a migration."""
    return max(int(path.name[:4]) for path in Path(__file__).parent.glob("*.sql"))


def check_identity(db: sqlite3.Connection, path: str, known: int) -> int:
    """Return the file's schema version, 0 for a new file; raises if it is foreign or too new."""
    with _consistent_read(db):
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        # Reads the schema in any case, so that damage in it is found now and not during a call.
        tables = db.execute("SELECT 1 FROM sqlite_master").fetchone()
    if application != APPLICATION_ID:
        if application or version or tables:
            problem = unavailable_problem(
                path,
                "it is not a Handrail store",
                "choose another store; this file was not touched",
                retryable=False,
            )
            raise problem_error(problem)
        return 0
    if version > known:
        problem = unavailable_problem(
            path,
            f"it has schema version {version}, this Handrail knows up to version {known}",
            "upgrade Handrail, or choose another store",
            retryable=False,
        )
        raise problem_error(problem)
    return version


@contextmanager
def _consistent_read(db: sqlite3.Connection) -> Iterator[None]:
    """Run several queries on one state of the store, which may be in creation just now."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        # An error may have ended the transaction already.
        with suppress(sqlite3.OperationalError):
            db.execute("ROLLBACK")


def upgrade(db: sqlite3.Connection, path: str, plan: Sequence[Migration]) -> None:
    """Apply the steps that the file does not have yet.

    The caller holds no transaction. Several processes may do this at once: each step reads the
    version again once it holds the write lock.
    """
    from handrail.store.schema.single_chain import ONE_CHAIN, join_session_chains

    for step in plan:
        db.execute("BEGIN IMMEDIATE")
        try:
            if check_identity(db, path, plan[-1].version) < step.version:
                for statement in _statements(step.sql):
                    db.execute(statement)
                if step.version == ONE_CHAIN:
                    join_session_chains(db)
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {step.version}")
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")


def _statements(script: str) -> Iterator[str]:
    # Not `executescript`, which would commit the transaction that makes a step atomic.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
