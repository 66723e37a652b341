"""One connection to PostgreSQL, as the SQL of the record uses it."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from handrail.core.names.store_location import shown_location
from handrail.store.postgres.dialect import translate
from handrail.store.postgres.server_errors import explain_error, lost_connection
from handrail.store.sqlite.errors import problem_error, unavailable_problem

if TYPE_CHECKING:
    import psycopg

    from handrail.store.sql import SqlCursor

# The time after which a server that disappeared without closing the connection is noticed.
_SILENCE_S: Final = 15
_KEEPALIVE: Final = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": _SILENCE_S * 1000,
}


class PostgresConnection:
    """Runs statements that are written for SQLite. Errors are raised as `store_unavailable`, a lost
    connection as `LostConnection`.
    """

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self.location = shown_location(url)
        self._driver = load_driver(self.location)
        self.connection = self._connect(url, timeout_s)

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> SqlCursor:
        """Run one statement with parameters."""
        return self._run(translate(sql), parameters)

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each of many parameters."""
        cursor = self.connection.cursor()
        try:
            cursor.executemany(translate(sql), parameters)
        except self._driver.Error as error:
            raise self._explain(error) from error
        return cursor

    def run(self, script: str) -> SqlCursor:
        """Run statements in PostgreSQL's own syntax, without parameters."""
        return self._run(script, None)

    @contextlib.contextmanager
    def expect_answer(self, limit_s: float) -> Iterator[None]:
        """Run statements that a server answers within the limit; otherwise the connection is cut,
        and the statement raises `LostConnection`.
        """
        timer = threading.Timer(limit_s, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @property
    def is_open(self) -> bool:
        """Whether the connection was neither closed nor lost."""
        return not self.connection.closed

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, or has failed and must be rolled back."""
        status = self.connection.info.transaction_status
        idle = self._driver.pq.TransactionStatus.IDLE
        return self.is_open and status != idle

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(self._driver.Error):
            self.connection.close()

    def _cut(self) -> None:
        """End the connection from another thread, while this side waits for the server."""
        with (
            contextlib.suppress(self._driver.Error, OSError),
            socket.socket(fileno=os.dup(self.connection.fileno())) as connected,
        ):
            connected.shutdown(socket.SHUT_RDWR)

    def _run(self, sql: str, parameters: Sequence[Any] | None) -> SqlCursor:
        try:
            cursor: SqlCursor = self.connection.execute(sql, parameters)
        except self._driver.Error as error:
            raise self._explain(error) from error
        return cursor

    def _explain(self, error: psycopg.Error) -> Exception:
        state = error.sqlstate or ""
        if not self.is_open or state.startswith(("08", "57P")):
            self.close()
            return lost_connection(self.location, error.diag.message_primary)
        if not state:
            problem = unavailable_problem(
                self.location,
                f"it cannot take a value ({error})",
                "see the message",
                retryable=False,
            )
            return problem_error(problem)
        return problem_error(explain_error(error, self.location))

    def _connect(self, url: str, timeout_s: float) -> psycopg.Connection[Any]:
        try:
            given = self._driver.conninfo.conninfo_to_dict(url)
        except self._driver.Error:
            # The error contains the URL, which may contain a password.
            problem = unavailable_problem(
                self.location, "its URL cannot be read", "check the URL", retryable=False
            )
            raise problem_error(problem) from None
        defaults = {"connect_timeout": max(2, int(timeout_s)), "application_name": "handrail"}
        try:
            connection: psycopg.Connection[Any] = self._driver.Connection.connect(
                autocommit=True,
                cursor_factory=self._driver.RawCursor,
                **{**defaults, **_KEEPALIVE, **given, "client_encoding": "UTF8"},
            )
        except self._driver.OperationalError as error:
            raise self._refusal(error, given) from None
        return connection

    def _refusal(self, error: psycopg.Error, given: Any) -> Exception:
        """Return why there is no connection, with the server's own reason if there is one."""
        # Lines that begin with a tab are advice.
        said = [line for line in str(error).splitlines() if line and line[0] != "\t"]
        text = said[-1].strip() if said else ""
        for name in ("password", "sslpassword"):
            if given.get(name):
                text = text.replace(str(given[name]), "***")
        if error.sqlstate and not error.sqlstate.startswith(("08", "57P")):
            return problem_error(explain_error(error, self.location))
        if any(
            word in text for word in ("authentication", "no pg_hba.conf entry", "does not exist")
        ):
            problem = unavailable_problem(
                self.location, text, "check the user, the password and the database"
            )
            return problem_error(problem)
        return lost_connection(self.location, text)


def load_driver(location: str) -> Any:
    """Import psycopg; raises `store_unavailable` if it is not installed."""
    try:
        import psycopg
    except ImportError as error:
        problem = unavailable_problem(
            location,
            "psycopg is not installed",
            'pip install "handrail[postgres]", or choose a store in a file',
            retryable=False,
        )
        raise problem_error(problem) from error
    return psycopg
