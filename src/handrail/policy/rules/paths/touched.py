"""The paths that a call reads and writes: its arguments with their links, its plan, and the effects of
its command.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.core.footprint import Access
from handrail.policy.policy_input import PolicyInput

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalysis

_GLOB: Final = re.compile(r"[*?\[]")
_MARKS: Final = re.compile(r"[=:@]")


class TouchExtent(IntEnum):
    """How much of a path is touched: only the path; also its content, if it is a directory that is moved
    or removed; or everything below it.
    """

    ITSELF = 0
    MAYBE_RECURSIVE = 1
    TREE = 2


class TouchedPath(NamedTuple):
    """An absolute path that is touched; `glob`: it has wildcards that are not expanded."""

    path: str
    extent: TouchExtent = TouchExtent.ITSELF
    glob: bool = False

    @property
    def tree(self) -> bool:
        """Whether everything below the path is touched as well."""
        return self.extent is TouchExtent.TREE


def written_paths(subject: PolicyInput) -> list[TouchedPath]:
    """The paths that the call would create, change or remove."""
    analysis = subject.footprint.command
    if analysis is not None:
        return [_effect_path(path, TouchExtent.MAYBE_RECURSIVE) for path in analysis.effects.writes]
    found = list(_footprint_paths(subject, Access.WRITE))
    found += [TouchedPath(way) for way in subject.written_aliases()]
    if subject.plan is not None:
        found += [TouchedPath(change.place.absolute) for change in subject.plan.changes]
    return found


def read_paths(subject: PolicyInput) -> list[TouchedPath]:
    """The paths that the call would read or quote."""
    analysis = subject.footprint.command
    if analysis is not None:
        effects = analysis.effects
        # A file that is moved can be read at its new path.
        moved = [_effect_path(path, TouchExtent.ITSELF) for path in effects.writes]
        return [
            *(_effect_path(path, TouchExtent.ITSELF) for path in effects.reads),
            *(one._replace(extent=TouchExtent.MAYBE_RECURSIVE) for one in moved),
        ]
    found = list(_footprint_paths(subject, Access.READ))
    if subject.traits.quotes_content:
        found += _footprint_paths(subject, Access.WRITE)
    extents = {target.path: target.extent for target in found}
    for place in subject.places:
        if place.via and place.absolute in extents:
            found += [TouchedPath(way, extents[place.absolute]) for way in place.via]
    return found


def mentioned_paths(
    analysis: CommandAnalysis, roots: Sequence[str], home: str | None
) -> list[TouchedPath]:
    """The paths that words of a command could name and that are not among its known effects. Includes
    what follows `=`, `:` and `@` in a word (`--file=x`, `HEAD:x`, `@x`). Paths are relative to the
    directory of the command and to the roots.
    """
    effects = analysis.effects
    known = {path.rstrip("/") for path in (*effects.reads, *effects.writes)}
    bases = dict.fromkeys((analysis.cwd, *roots) if analysis.cwd else roots)
    found: dict[str, None] = {}
    for piece in _path_candidates(analysis):
        text = home + piece[1:] if piece.startswith("~/") and home is not None else piece
        for base in bases:
            found["/" + posixpath.normpath(posixpath.join(base, text)).lstrip("/")] = None
    return [TouchedPath(path) for path in found if path not in known]


def _path_candidates(analysis: CommandAnalysis) -> Iterator[str]:
    for part in analysis.parts:
        for word in part.words[1:]:
            if word and not word.startswith("-"):
                yield word
            for mark in _MARKS.finditer(word or ""):
                rest = (word or "")[mark.end() :]
                if rest:
                    yield rest


def known_paths(subject: PolicyInput) -> list[TouchedPath]:
    """All resolved paths that the call touches, or [] if the list would be incomplete."""
    if subject.footprint.open_ended and subject.plan is None:
        return []
    kinds = {touch.key.partition(":")[0] for touch in subject.footprint.touches}
    if not kinds <= {"file", "tree", "session", "job"}:
        return []
    found = [*_footprint_paths(subject, Access.READ), *_footprint_paths(subject, Access.WRITE)]
    if subject.plan is not None:
        found += [TouchedPath(change.place.absolute) for change in subject.plan.changes]
    return found


def _footprint_paths(subject: PolicyInput, access: Access) -> Iterator[TouchedPath]:
    for touch in subject.footprint.touches:
        if touch.access is access:
            kind, _, path = touch.key.partition(":")
            if kind in ("file", "tree"):
                yield TouchedPath(path, TouchExtent.TREE if kind == "tree" else TouchExtent.ITSELF)


def _effect_path(path: str, extent: TouchExtent) -> TouchedPath:
    if path.endswith("/"):
        extent = TouchExtent.TREE
    return TouchedPath(f"/{path.strip('/')}", extent, _GLOB.search(path) is not None)
