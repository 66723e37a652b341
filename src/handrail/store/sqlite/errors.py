"""Reports errors of the store: which file, why, and what to do next."""

from __future__ import annotations

import sqlite3
from typing import Final

from handrail.core.problems import Problem, ProblemRaised

# By SQLite's primary error name: what happened, and what to do.
_REASONS: Final = {
    "SQLITE_BUSY": (
        "another process holds it locked",
        "end the process that holds it (a database browser, a stuck handrail), then call again",
    ),
    "SQLITE_LOCKED": (
        "another process holds it locked",
        "end the process that holds it (a database browser, a stuck handrail), then call again",
    ),
    "SQLITE_FULL": (
        "there is no space left for it",
        "free some space on its disk, or shrink the store with `handrail gc`, then call again",
    ),
    "SQLITE_READONLY": (
        "it is read-only",
        "make the file and its directory writable for this user, or choose another store",
    ),
    "SQLITE_PERM": (
        "access to it is denied",
        "make the file and its directory writable for this user, or choose another store",
    ),
    "SQLITE_CANTOPEN": (
        "it cannot be opened",
        "check that its directory exists and is writable for this user",
    ),
    "SQLITE_IOERR": (
        "its disk reports an error",
        "check the disk, then call again",
    ),
    "SQLITE_CORRUPT": (
        "it is damaged",
        "move the file and its -wal and -shm files away; a new store is made on the next start",
    ),
    "SQLITE_NOTADB": (
        "it is not a Handrail store or is damaged at its beginning",
        "move the file away, or choose another store",
    ),
}


def explain_error(error: sqlite3.Error, path: str) -> Problem:
    """Return the Problem for an error that SQLite reported."""
    name = getattr(error, "sqlite_errorname", None) or "SQLITE_ERROR"
    primary = "_".join(name.split("_")[:2])
    reason, hint = _REASONS.get(primary, ("SQLite reports an error", "see the message"))
    return unavailable_problem(path, f"{reason} ({error})", hint)


def unavailable_problem(path: str, reason: str, hint: str, *, retryable: bool = True) -> Problem:
    """Return the Problem of a store that cannot be used, temporarily or at all."""
    message = f"the store {path!r} cannot be used: {reason}"
    return Problem("store_unavailable", message, hint, retryable=retryable)


def problem_error(problem: Problem) -> ProblemRaised:
    """Return a new exception for a Problem that several callers get."""
    return ProblemRaised(
        problem.code,
        problem.message,
        hint=problem.hint,
        field=problem.field,
        retryable=problem.retryable,
    )


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether waiting a little may help."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def closed_problem(path: str) -> Problem:
    """The Problem of a store that was closed."""
    return unavailable_problem(path, "it was closed", "open the workspace again", retryable=False)


def crashed_problem(path: str) -> Problem:
    """Return the Problem of a store whose writer thread ended because of a bug."""
    return unavailable_problem(
        path,
        "its writer has failed by a bug of Handrail",
        "report the bug; open the workspace again",
        retryable=False,
    )
