"""Migrates a PostgreSQL database to the schema of this version: numbered steps, all in one
transaction. The numbers are those of the steps for SQLite; the first one creates all tables.

A schema with other tables under these names, or that a newer Handrail has written, is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from handrail.core.problems import ProblemRaised
from handrail.store.schema.migrations import Migration
from handrail.store.sqlite.errors import problem_error, unavailable_problem

if TYPE_CHECKING:
    from handrail.store.postgres.server_connection import PostgresConnection


def list_steps() -> list[Migration]:
    """All migrations in order."""
    found = sorted((Path(__file__).parent / "postgres").glob("*.sql"))
    return [Migration(int(path.name[:4]), path.read_text("utf-8")) for path in found]


def check_identity(connection: PostgresConnection, *, must_exist: bool = False) -> int:
    """Return the version of the store, 0 if there is none; raises `store_unavailable` if the schema
    is not a Handrail store or too new.
    """
    schema, encoding = connection.execute(
        "SELECT current_schema(), current_setting('server_encoding')"
    ).fetchone()
    if schema is None or encoding != "UTF8":
        reason = (
            "its search_path names no schema" if schema is None else f"its encoding is {encoding}"
        )
        raise _refuse(connection, reason, "create a database with encoding UTF8 and a schema")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "handrail_store" not in tables:
        if tables:
            names = ", ".join(sorted(tables))
            raise _refuse(
                connection,
                f"the schema {schema!r} has tables of another program ({names})",
                "choose another database, or another schema with options=-csearch_path%3DNAME",
            )
        if must_exist:
            raise _refuse(connection, "there is no store in it", "check the URL")
        return 0
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    known = list_steps()[-1].version
    if version > known:
        raise _refuse(
            connection,
            f"it has schema version {version}, this Handrail knows up to version {known}",
            "upgrade Handrail, or choose another store",
        )
    return version


def upgrade(connection: PostgresConnection) -> None:
    """Apply the steps that the store does not have yet. Several processes may do this at once."""
    if check_identity(connection) == list_steps()[-1].version:
        return
    connection.run("BEGIN")
    try:
        # There may be no table yet that could be locked.
        connection.run("SELECT pg_advisory_xact_lock(hashtext('handrail ' || current_schema()))")
        version = check_identity(connection)
        for step in (one for one in list_steps() if one.version > version):
            connection.run(step.sql)
            connection.execute(
                "INSERT INTO handrail_store (one, version) VALUES (1, ?) ON CONFLICT (one)"
                " DO UPDATE SET version = excluded.version",
                (step.version,),
            )
        connection.run("COMMIT")
    finally:
        if connection.in_transaction:
            connection.run("ROLLBACK")


def _refuse(connection: PostgresConnection, reason: str, hint: str) -> ProblemRaised:
    return problem_error(unavailable_problem(connection.location, reason, hint, retryable=False))
