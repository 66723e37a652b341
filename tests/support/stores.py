"""Statements of a test's own on a store of either engine."""

from contextlib import closing, contextmanager

from handrail.core.names.store_location import is_store_url
from handrail.store.opening import open_database


@contextmanager
def forged_store(path):
    """A connection for statements that Handrail would not run; no check of the schema holds."""
    with closing(open_database(path, busy_timeout_s=5)) as database:
        db = database.db
        if is_store_url(path):
            checks = db.execute(
                "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'c'"
                " AND connamespace = current_schema()::regnamespace"
            )
            for table, name in checks.fetchall():
                db.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        else:
            db.execute("PRAGMA ignore_check_constraints = ON")
        yield db


def query(path, sql, parameters=()):
    """The rows that a statement returns."""
    with closing(open_database(path, busy_timeout_s=5)) as database:
        return database.db.execute(sql, parameters).fetchall()
