"""From what ripgrep printed to an answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final

from handrail.core.places import Place
from handrail.core.ports import FilesFound, FilesQuery, GrepFound, GrepMode, GrepQuery
from handrail.host.search import limits
from handrail.host.search.answers import found_counts, found_files, found_lines
from handrail.host.search.decode import Binary, binary_from
from handrail.host.search.filters import PathFilter
from handrail.host.search.newest import newest_first
from handrail.host.search.parse import parse_counts, parse_lines, parse_paths, unreadable_files
from handrail.host.search.reopen import still_there, still_true
from handrail.host.search.roots import Root
from handrail.host.spawn import Finished

_ENGINE: Final = "ripgrep"

_Ask = Callable[[str], bool]


def grep_answer(
    root: Root, query: GrepQuery, allowed: PathFilter, ended: Finished, note: str | None = None
) -> GrepFound:
    """The answer of a search for text; `note` says what was left out on purpose."""
    if query.mode is GrepMode.CONTENT:
        return _lines_answer(root, query.place, _asked(query, allowed), ended, note)
    if query.mode is GrepMode.COUNT:
        by_rel = {_rel(path): count for path, count in parse_counts(ended.stdout).items()}
    else:
        by_rel = dict.fromkeys(parse_paths(ended.stdout), 0)
    rels = _without_git(by_rel, query.place, ended)
    kept = {rel: by_rel[rel] for rel in _kept(root, rels, _asked(query, allowed), ended)}
    return found_counts(root, kept, [*_notes(ended), note], _ENGINE)


def files_answer(root: Root, query: FilesQuery, allowed: PathFilter, ended: Finished) -> FilesFound:
    """The answer of a search for names."""
    ask = None if allowed.hints_decide else allowed.accepts
    rels = _without_git(parse_paths(ended.stdout), query.place, ended)
    kept = _kept(root, rels, ask, ended)
    ordered = newest_first(root, kept) if query.sort == "mtime" else sorted(kept)
    return found_files(root, ordered, _notes(ended), _ENGINE)


def _lines_answer(
    root: Root, place: Place, ask: _Ask | None, ended: Finished, note: str | None
) -> GrepFound:
    parsed = parse_lines(ended.stdout, lambda path: still_there(root, _rel(path)))
    by_rel = {_rel(path): lines for path, lines in parsed.by_path.items()}
    binary = 0
    for path, offset in parsed.noticed.items():
        rel = _rel(path)
        if rel in by_rel:
            kind = binary_from(root, rel, offset)
            if kind is Binary.AT_ONCE:
                del by_rel[rel]
            binary += kind is Binary.LATER
    shown = {
        rel: [
            (line.number, line.matched, limits.cut_line(line.text.decode("utf-8", "replace")))
            for line in by_rel[rel]
        ]
        for rel in _kept(root, _without_git(by_rel, place, ended), ask, ended)
    }
    if not ended.confined:
        shown = {rel: still_true(root, rel, lines) for rel, lines in shown.items()}
    notes = [
        *_notes(ended),
        limits.turned_binary(binary) if binary else None,
        limits.unclear(parsed.unclear) if parsed.unclear else None,
        note,
    ]
    return found_lines(root, shown, notes, _ENGINE)


def _asked(query: GrepQuery, allowed: PathFilter) -> _Ask | None:
    """What is left to be asked of a path: ripgrep is told of a type or of names, not of both."""
    return None if allowed.hints_decide and query.type is None else allowed.accepts


def _without_git(rels: Iterable[str], place: Place, ended: Finished) -> Iterable[str]:
    """Leave out what lies in a `.git` below the place; few answers hold the word at all."""
    if b"/.git/" not in ended.stdout and b"/.git\0" not in ended.stdout:
        return rels
    start = len(place.rel)
    return (rel for rel in rels if ".git" not in rel[start:].split("/"))


def _kept(root: Root, rels: Iterable[str], ask: _Ask | None, ended: Finished) -> Iterable[str]:
    kept = rels if ask is None else filter(ask, rels)
    return kept if ended.confined else (rel for rel in kept if still_there(root, rel))


def _notes(ended: Finished) -> list[str | None]:
    missed = unreadable_files(ended.stderr)
    died = ended.exit_code < 0 and not (ended.timed_out or ended.cut)
    return [
        limits.TOO_SLOW if ended.timed_out else None,
        limits.too_much(len(ended.stdout), "bytes of text") if ended.cut else None,
        limits.broke_off(-ended.exit_code) if died else None,
        limits.unreadable(missed) if missed else None,
    ]


def _rel(path: bytes) -> str:
    return os.fsdecode(path[2:])
