"""Builds results for both engines: sorted, with paths as shown, within limits."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from handrail.core.ports.machine import FilesFound, GrepFound, Hit
from handrail.host.search.limits import MAX_HITS, join, too_much
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
    """Files with the number of matching lines in each; 0: not counted."""
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
    """Files with their lines (number, matched, text); files without a match are left out."""
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
    """Regular files, last modified first, equal times by path; missing files are left out."""
    # Names bound once, and the kind by its bits: this runs a hundred thousand times.
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
