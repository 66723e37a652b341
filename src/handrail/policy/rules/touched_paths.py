"""What a call would read and write, by every name: arguments, plan, links, a command's effects."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from handrail.core.commands import Judgement
from handrail.core.footprint import Access
from handrail.policy.policy_input import Subject
from handrail.policy.rules.rule import QUOTERS

_GLOB: Final = re.compile(r"[*?\[]")
_MARKS: Final = re.compile(r"[=:@]")


class Extent(IntEnum):
    """How much is touched: a thing itself; that and, should it be a directory that is moved
    or removed, what is in it; or everything below for certain.
    """

    ITSELF = 0
    PERHAPS_MORE = 1
    TREE = 2


class Target(NamedTuple):
    """An absolute path that is touched. `glob`: it holds wildcards, and nobody knows yet
    which names they will find.
    """

    path: str
    extent: Extent = Extent.ITSELF
    glob: bool = False

    @property
    def tree(self) -> bool:
        """Whether everything below is meant as well."""
        return self.extent is Extent.TREE


def written(subject: Subject) -> list[Target]:
    """What it would create, change or remove."""
    judged = subject.command
    if judged is not None:
        return [_effect(path, Extent.PERHAPS_MORE) for path in judged.effects.writes]
    found = list(_touched(subject, Access.WRITE))
    found += [Target(way) for way in subject.written_ways()]
    if subject.plan is not None:
        found += [Target(change.place.absolute) for change in subject.plan.changes]
    return found


def read(subject: Subject) -> list[Target]:
    """What it would look at, or quote from."""
    judged = subject.command
    if judged is not None:
        effects = judged.effects
        # What is moved can be read where it is then.
        moved = [_effect(path, Extent.ITSELF) for path in effects.writes]
        return [
            *(_effect(path, Extent.ITSELF) for path in effects.reads),
            *(one._replace(extent=Extent.PERHAPS_MORE) for one in moved),
        ]
    found = list(_touched(subject, Access.READ))
    if subject.tool in QUOTERS:
        found += _touched(subject, Access.WRITE)
    extents = {target.path: target.extent for target in found}
    for place in subject.places:
        if place.via and place.absolute in extents:
            found += [Target(way, extents[place.absolute]) for way in place.via]
    return found


def named(judged: Judgement, roots: Sequence[str], home: str | None) -> list[Target]:
    """Every path that a command's words could name beside its known effects: of a word also
    what follows `=`, `:` and `@` (`--file=x`, `HEAD:x`, `@x`), from its directory and the roots.
    """
    effects = judged.effects
    known = {path.rstrip("/") for path in (*effects.reads, *effects.writes)}
    bases = dict.fromkeys((judged.cwd, *roots) if judged.cwd else roots)
    found: dict[str, None] = {}
    for piece in _pieces(judged):
        text = home + piece[1:] if piece.startswith("~/") and home is not None else piece
        for base in bases:
            found["/" + posixpath.normpath(posixpath.join(base, text)).lstrip("/")] = None
    return [Target(path) for path in found if path not in known]


def _pieces(judged: Judgement) -> Iterator[str]:
    for part in judged.parts:
        for word in part.words[1:]:
            if word and not word.startswith("-"):
                yield word
            for mark in _MARKS.finditer(word or ""):
                rest = (word or "")[mark.end() :]
                if rest:
                    yield rest


def all_known(subject: Subject) -> list[Target]:
    """Every path it would touch by where it really lies; none at all if that is not the
    whole of it.
    """
    if subject.footprint.open_ended and subject.plan is None:
        return []
    kinds = {touch.key.partition(":")[0] for touch in subject.footprint.touches}
    if not kinds <= {"file", "tree", "session", "job"}:
        return []
    found = [*_touched(subject, Access.READ), *_touched(subject, Access.WRITE)]
    if subject.plan is not None:
        found += [Target(change.place.absolute) for change in subject.plan.changes]
    return found


def _touched(subject: Subject, access: Access) -> Iterator[Target]:
    for touch in subject.footprint.touches:
        if touch.access is access:
            kind, _, path = touch.key.partition(":")
            if kind in ("file", "tree"):
                yield Target(path, Extent.TREE if kind == "tree" else Extent.ITSELF)


def _effect(path: str, extent: Extent) -> Target:
    if path.endswith("/"):
        extent = Extent.TREE
    return Target(f"/{path.strip('/')}", extent, _GLOB.search(path) is not None)
