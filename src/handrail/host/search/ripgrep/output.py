"""Turns ripgrep's output into a result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from handrail.core.places import Place
from handrail.core.ports.machine import FilesFound, FilesQuery, GrepFound, GrepMode, GrepQuery
from handrail.host.processes.spawn import HelperResult
from handrail.host.search import limits
from handrail.host.search.decode import Binary, binary_from
from handrail.host.search.filters import PathFilter
from handrail.host.search.results import found_counts, found_files, found_lines, newest_first
from handrail.host.search.ripgrep.parse import (
    parse_counts,
    parse_lines,
    parse_paths,
    unreadable_files,
)
from handrail.host.search.search_roots import SearchRoot, open_beneath


def recheck_path(root: SearchRoot, rel: str) -> bool:
    """Return whether the path is a regular file of this root."""
    handle = open_beneath(root, rel)
    if handle is None:
        return False
    os.close(handle)
    return True


ENGINE: Final = "ripgrep"

_Ask = Callable[[str], bool]


class LinesSource(NamedTuple):
    """How to interpret the files in ripgrep's output: the path beneath the root, whether such a
    file exists, and from which offset on it is binary.
    """

    rel_of: Callable[[bytes], str]
    exists: Callable[[bytes], bool]
    binary: Callable[[str, int], Binary]


class LinesRead(NamedTuple):
    """Lines (number, matched, text) by path beneath the root. `binary` counts files that are text
    only at the beginning, `unclear` counts ambiguous names.
    """

    by_rel: dict[str, list[tuple[int, bool, str]]]
    binary: int = 0
    unclear: int = 0

    @property
    def notes(self) -> list[str | None]:
        """The notes on what is missing."""
        return [
            limits.turned_binary(self.binary) if self.binary else None,
            limits.unclear(self.unclear) if self.unclear else None,
        ]


def grep_answer(
    root: SearchRoot,
    query: GrepQuery,
    allowed: PathFilter,
    ended: HelperResult,
    note: str | None = None,
) -> GrepFound:
    """The result of a content search by a confined ripgrep; `note` says what was left out."""
    if query.mode is GrepMode.CONTENT:
        return _lines_answer(root, query.place, _remaining_filter(query, allowed), ended, note)
    if query.mode is GrepMode.COUNT:
        by_rel = {_rel(path): count for path, count in parse_counts(ended.stdout).items()}
    else:
        by_rel = dict.fromkeys(parse_paths(ended.stdout), 0)
    rels = _without_git(by_rel, query.place, ended)
    kept = {
        rel: by_rel[rel]
        for rel in _accepted_paths(root, rels, _remaining_filter(query, allowed), ended)
    }
    return found_counts(root, kept, [*run_notes(ended), note], ENGINE)


def candidates(query: GrepQuery, allowed: PathFilter, ended: HelperResult) -> list[str]:
    """Return the paths that ripgrep reported and that pass the query and the rules, sorted."""
    rels = _without_git(parse_paths(ended.stdout), query.place, ended)
    ask = _remaining_filter(query, allowed)
    return sorted(rels if ask is None else filter(ask, rels))


def read_lines(output: bytes, source: LinesSource) -> LinesRead:
    """Return the lines that ripgrep printed, without those of binary files."""
    parsed = parse_lines(output, source.exists)
    by_rel = {source.rel_of(path): lines for path, lines in parsed.by_path.items()}
    binary = 0
    for path, offset in parsed.noticed.items():
        rel = source.rel_of(path)
        if rel in by_rel:
            kind = source.binary(rel, offset)
            if kind is Binary.AT_ONCE:
                del by_rel[rel]
            binary += kind is Binary.LATER
    shown = {
        rel: [
            (line.number, line.matched, limits.cut_line(line.text.decode("utf-8", "replace")))
            for line in lines
        ]
        for rel, lines in by_rel.items()
    }
    return LinesRead(shown, binary, parsed.unclear)


def files_answer(
    root: SearchRoot, query: FilesQuery, allowed: PathFilter, ended: HelperResult
) -> FilesFound:
    """The result of a search for names."""
    ask = None if allowed.hints_decide else allowed.accepts
    rels = _without_git(parse_paths(ended.stdout), query.place, ended)
    kept = _accepted_paths(root, rels, ask, ended)
    ordered = newest_first(root, kept) if query.sort == "mtime" else sorted(kept)
    return found_files(root, ordered, run_notes(ended), ENGINE)


def run_notes(ended: HelperResult) -> list[str | None]:
    """Return the notes on what one run of ripgrep left out, and why."""
    missed = unreadable_files(ended.stderr)
    died = ended.exit_code < 0 and not (ended.timed_out or ended.cut)
    return [
        limits.TOO_SLOW if ended.timed_out else None,
        limits.too_much(len(ended.stdout), "bytes of text") if ended.cut else None,
        limits.broke_off(-ended.exit_code) if died else None,
        limits.unreadable(missed) if missed else None,
    ]


def _lines_answer(
    root: SearchRoot, place: Place, ask: _Ask | None, ended: HelperResult, note: str | None
) -> GrepFound:
    source = LinesSource(
        _rel,
        lambda path: recheck_path(root, _rel(path)),
        lambda rel, offset: binary_from(root, rel, offset),
    )
    read = read_lines(ended.stdout, source)
    kept = _accepted_paths(root, _without_git(read.by_rel, place, ended), ask, ended)
    shown = {rel: read.by_rel[rel] for rel in kept}
    return found_lines(root, shown, [*run_notes(ended), *read.notes, note], ENGINE)


def _remaining_filter(query: GrepQuery, allowed: PathFilter) -> _Ask | None:
    """Return what remains to be checked of a path: ripgrep gets a type or names, not both."""
    return None if allowed.hints_decide and query.type is None else allowed.accepts


def _without_git(rels: Iterable[str], place: Place, ended: HelperResult) -> Iterable[str]:
    """Remove paths in a `.git` below the place; few results contain that name at all."""
    if b"/.git/" not in ended.stdout and b"/.git\0" not in ended.stdout:
        return rels
    start = len(place.rel)
    return (rel for rel in rels if ".git" not in rel[start:].split("/"))


def _accepted_paths(
    root: SearchRoot, rels: Iterable[str], ask: _Ask | None, ended: HelperResult
) -> Iterable[str]:
    kept = rels if ask is None else filter(ask, rels)
    return kept if ended.confined else (rel for rel in kept if recheck_path(root, rel))


def _rel(path: bytes) -> str:
    return os.fsdecode(path[2:])
