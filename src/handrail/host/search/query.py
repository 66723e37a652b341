"""Checks of a query that both engines make before they start."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import GrepQuery
from handrail.core.problems import ProblemRaised
from handrail.host.search.limits import MAX_PATTERN
from handrail.host.search.messages import (
    BAD_PATTERN,
    NOT_A_REGULAR_EXPRESSION,
    NOT_SEARCHABLE,
    NOTHING_TO_SEARCH,
    UNKNOWN_FILE_TYPE,
)


def check_place(place: Place) -> None:
    """Raise `not_found` or `not_text` for a place that cannot be searched."""
    if place.kind is Kind.MISSING:
        raise NOTHING_TO_SEARCH.error(path=place.path, field="path")
    if place.kind is Kind.SPECIAL:
        raise NOT_SEARCHABLE.error(path=place.path, field="path")


def check_pattern(query: GrepQuery) -> None:
    """Raise `invalid_arguments` for a pattern that no engine accepts."""
    complaint = None
    if "\0" in query.pattern:
        complaint = "holds a NUL character; grep searches text"
    elif len(query.pattern) > MAX_PATTERN:
        complaint = f"is longer than {MAX_PATTERN:,} characters"
    elif not query.pattern.isascii() and _has_surrogates(query.pattern):
        complaint = "holds half a character (a lone surrogate)"
    elif not query.multiline and "\n" in query.pattern:
        complaint = "holds a line break, and lines are searched one by one; set multiline"
    if complaint:
        raise BAD_PATTERN.error(pattern=_short(query.pattern), reason=complaint, field="pattern")


def bad_pattern(query: GrepQuery, reason: str) -> ProblemRaised:
    """The problem of a pattern that does not compile."""
    if "look-around" in reason or "look-ahead" in reason:
        hint = "search for something simpler and read the lines that match"
    elif '"\\n"' in reason:
        hint = "set multiline to match across lines"
    else:
        hint = "set literal to search for the text as it is, or escape special characters with \\"
    return NOT_A_REGULAR_EXPRESSION.error(
        pattern=_short(query.pattern), reason=reason, hint=hint, field="pattern"
    )


def unknown_type(name: str, known: Collection[str]) -> ProblemRaised:
    """The problem of an unknown file type."""
    close = difflib.get_close_matches(name, known, n=3)
    meant = f"did you mean {' or '.join(map(repr, close))}?"
    hint = meant if close else "use a glob like '*.py' instead"
    return UNKNOWN_FILE_TYPE.error(name=name, hint=hint, field="type")


def understands_crlf(query: GrepQuery) -> bool:
    """Whether `$` should also match before a CRLF, as users expect.

    Not if the pattern contains the carriage return itself.
    """
    return not query.literal and "$" in query.pattern and "\\r" not in query.pattern


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _short(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 80 else pattern[:80] + "…")
