"""Reports errors of a store on PostgreSQL. No message contains a password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from handrail.core.problems import Problem, ProblemRaised
from handrail.store.sqlite.errors import unavailable_problem

if TYPE_CHECKING:
    import psycopg

_LOCKED: Final = (
    "another process holds it locked",
    "end the session that holds it (see pg_locks), then call again",
)
_LOGIN: Final = (
    "the server refuses the login",
    "check the user, and the password in PGPASSWORD or ~/.pgpass",
)
_FULL: Final = ("there is no space left for it", "free some space on the server, then call again")
_CONNECTION: Final = (
    "the connection to its server is lost or cannot be made",
    "check that the server runs and can be reached, then call again",
)
_FORBIDDEN: Final = (
    "the role may not do this",
    "use a role that has the privilege, or grant it (see the page about stores)",
)
_READ_ONLY: Final = ("it is read-only", "connect to the primary server, not to a standby")
# By the beginning of SQLSTATE: what happened, and what to do.
_REASONS: Final = {
    "55P03": _LOCKED,
    "57014": _LOCKED,
    "28": _LOGIN,
    "3D": ("there is no such database", "create it with `createdb`, or choose another store"),
    "3F": ("there is no such schema", "create it, or choose another store"),
    "42501": _FORBIDDEN,
    "25006": _READ_ONLY,
    "53100": _FULL,
    "53200": ("the server is out of memory", "call again in a moment"),
    "53300": ("the server has no connection left", "raise max_connections, or close other stores"),
    "08": _CONNECTION,
    "57P": _CONNECTION,
}


class LostConnection(ProblemRaised):
    """The connection ended. The server rolls back what was not committed."""


def explain_error(error: psycopg.Error, location: str) -> Problem:
    """Return the Problem for an error that the server or its connection reported."""
    state = error.sqlstate or ""
    found = [known for begin, known in _REASONS.items() if state.startswith(begin)]
    if found:
        reason, hint = found[0]
    elif state:
        reason, hint = f"the server reports error {state}", "see the message"
    else:
        reason, hint = _CONNECTION
    said = error.diag.message_primary if state else None
    return unavailable_problem(location, f"{reason} ({said})" if said else reason, hint)


def lost_connection(location: str, said: str | None = None) -> LostConnection:
    """Return the exception for a connection that ended."""
    reason, hint = _CONNECTION
    problem = unavailable_problem(location, f"{reason} ({said})" if said else reason, hint)
    return LostConnection(problem.code, problem.message, hint=problem.hint, retryable=True)
