"""Checks queries and makes the results of both engines: sorted, limited, with paths as shown."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from handrail.core.names.caller_words import arg_name, shown_arg
from handrail.core.places import Kind, Place
from handrail.core.ports.machine import FilesFound, GrepFound, GrepQuery, Hit
from handrail.core.problems import ProblemRaised
from handrail.host.search.limits import MAX_HITS, MAX_PATTERN, join, too_much
from handrail.host.search.messages import (
    BAD_PATTERN,
    NOT_A_REGULAR_EXPRESSION,
    NOT_SEARCHABLE,
    NOTHING_TO_SEARCH,
    UNKNOWN_FILE_TYPE,
)
from handrail.host.search.search_roots import SearchRoot


def found_files(
    root: SearchRoot, rels: Sequence[str], notes: Iterable[str | None], engine: str
) -> FilesFound:
    """Files in the order given."""
    kept = rels[:MAX_HITS]
    plain = not root.prefix and "".join(kept).isascii()
    paths = tuple(kept) if plain else tuple(map(root.show, kept))
    return FilesFound(paths, join([*notes, _excess(len(rels), "files")]), engine)


def found_counts(
    root: SearchRoot, counts: Mapping[str, int], notes: Iterable[str | None], engine: str
) -> GrepFound:
    """Return files with the number of matching lines in each; 0 if they were not counted."""
    ordered = sorted((root.show(rel), count) for rel, count in counts.items())
    kept = ordered[:MAX_HITS]
    return GrepFound(
        files=tuple(path for path, _ in kept),
        counts=tuple(count for _, count in kept if count),
        hits=(),
        partial=join([*notes, _excess(len(ordered), "files")]),
        engine=engine,
    )


def found_lines(
    root: SearchRoot,
    lines: Mapping[str, Sequence[tuple[int, bool, str]]],
    notes: Iterable[str | None],
    engine: str,
) -> GrepFound:
    """Return files with their lines (number, matched, text); files without a match are left out."""
    ordered = sorted((root.show(rel), found) for rel, found in lines.items() if found)
    hits = [
        Hit(path, number, text, matched)
        for path, found in ordered
        for number, matched, text in found
    ]
    total = len(hits)
    del hits[MAX_HITS:]
    counts: dict[str, int] = {}
    for hit in hits:
        counts[hit.path] = counts.get(hit.path, 0) + hit.matched
    return GrepFound(
        files=tuple(counts),
        counts=tuple(counts.values()),
        hits=tuple(hits),
        partial=join([*notes, _excess(total, "lines")]),
        engine=engine,
    )


def _excess(found: int, what: str) -> str | None:
    return too_much(MAX_HITS, what) if found > MAX_HITS else None


_KIND: Final = 0o170000


def newest_first(root: SearchRoot, rels: Iterable[str]) -> list[str]:
    """Sort regular files by modification time, newest first, then by path; drop missing ones."""
    # Bound names, and the kind from the mode bits: this runs a hundred thousand times.
    look, handle = os.stat, root.fd
    dated: list[tuple[int, str]] = []
    for rel in rels:
        try:
            info = look(rel, dir_fd=handle, follow_symlinks=False)
        except OSError:
            continue
        if info.st_mode & _KIND == stat.S_IFREG:
            dated.append((-info.st_mtime_ns, rel))
    dated.sort()
    return [rel for _, rel in dated]


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
        word = arg_name("multiline")
        complaint = f"holds a line break, and lines are searched one by one; set {word}"
    if complaint:
        raise BAD_PATTERN.error(pattern=_short(query.pattern), reason=complaint, field="pattern")


def bad_pattern(query: GrepQuery, reason: str) -> ProblemRaised:
    """The problem of a pattern that does not compile."""
    if "look-around" in reason or "look-ahead" in reason:
        hint = "search for something simpler and read the lines that match"
    elif '"\\n"' in reason:
        hint = f"set {arg_name('multiline')} to match across lines"
    else:
        literal = shown_arg("literal")
        as_it_is = f"set {literal} to search for the text as it is, or " if literal else ""
        hint = f"{as_it_is}escape special characters with \\"
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
    """Whether `$` should also match before CRLF: not if the pattern contains a carriage return."""
    return not query.literal and "$" in query.pattern and "\\r" not in query.pattern


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _short(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 80 else pattern[:80] + "…")
