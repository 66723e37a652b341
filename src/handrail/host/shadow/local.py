"""The shadow of a set of roots: looks at them around a program, and keeps copies.

One runtime owns a place for its copies; a second one on the same workspace gets another, so
that neither removes what the other needs.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from handrail.core.ports import Blobs
from handrail.core.shadows import Delta, Look, Noted, ShadowLimits
from handrail.host.files.openat2 import choose_opener
from handrail.host.shadow.contents import Contents
from handrail.host.shadow.entries import Tree, Usage
from handrail.host.shadow.manifest import Manifest, Moment
from handrail.host.shadow.notes import new_notes, read_notes
from handrail.host.shadow.presence import Presence
from handrail.host.shadow.reading import Means
from handrail.host.shadow.walk import Top, Walk

_SLOTS: Final = 16
# Copies that nobody needs any more may take this much before they are looked for and removed.
_MOST_STALE: Final = 64 << 20


@dataclass(slots=True, eq=False)
class Before:
    """A look at some places or at all; what is different is told against it."""

    scopes: tuple[tuple[int, str], ...] | None
    trees: dict[str, Tree]
    usage: Usage
    repositories: dict[str, tuple[int, ...]] = field(default_factory=dict)
    moment: Moment | None = None


class LocalShadow:
    """Implements `Shadow`. `directory` is private and outside every root; a `temporary` one
    goes with the shadow.
    """

    def __init__(
        self,
        roots: Sequence[tuple[str, int]],
        directory: Path,
        *,
        limits: ShadowLimits,
        hidden: Sequence[str] = (),
        temporary: bool = False,
    ) -> None:
        self._tops = [Top(number, path, handle) for number, (path, handle) in enumerate(roots)]
        self._limits = limits
        self._hidden = frozenset(hidden)
        self._opener = choose_opener()
        self._home = directory
        self._temporary = temporary
        self._lock = threading.Lock()
        self._presence = Presence(directory / "present")
        self._place: _Place | None = None
        self._trees: dict[str, Tree] = {}
        self._pinned: list[Before] = []

    def before(self, scopes: Sequence[tuple[int, str]] | None) -> Before:
        """Look at these places, None: at all roots; copy what is new. Raises OSError."""
        with self._lock:
            place = self._open()
            if scopes is not None:
                usage = Usage()
                trees = {top.path: Tree(usage) for top in self._tops}
                before = Before(tuple(self._widened(scopes)), trees, usage)
                self._look(before, tells=False)
                return before
            before = Before(None, self._trees, self._usage)
            self._look(before, tells=False)
            before.moment = place.manifest.save(self._trees)
            self._tidy(place)
            return before

    def after(self, before: Before) -> Look:
        """Look at the same places again: what is different. Raises OSError."""
        with self._lock:
            place = self._open()
            look = self._look(before, tells=True)
            if before in self._pinned:
                self._pinned.remove(before)
            elif before.scopes is None:
                place.manifest.save(self._trees)
            elif self._trees:
                # Copies that were made for this look alone.
                self._usage.stale += before.usage.size
            return look

    def pin(self, before: Before) -> Before:
        """The same look, told against even after later ones; until `after` has told it."""
        with self._lock:
            usage = Usage()
            trees = {path: tree.copy(usage) for path, tree in before.trees.items()}
            marks = dict(before.repositories)
            pinned = Before(before.scopes, trees, usage, marks, before.moment)
            self._pinned.append(pinned)
            return pinned

    def notes(self) -> str:
        """A new file for what a program is seen to write."""
        with self._lock:
            return new_notes(self._open().directory / "notes")

    def noted(self, notes: str) -> Noted | None:
        """What stands in it; None if nobody watched."""
        return read_notes(notes)

    def alone(self) -> bool:
        """Whether no other runtime is open on these roots."""
        return self._presence.alone()

    def reference(self, before: Before, notes: str) -> Mapping[str, Any]:
        """What finds a look at all roots again after a crash."""
        if before.moment is None or self._place is None:
            return {}
        slot = self._place.directory.name
        return {"slot": slot, "notes": Path(notes).name, **before.moment._asdict()}

    def since(self, reference: Mapping[str, Any]) -> tuple[Look, Noted | None] | None:
        """What is different from a look of a runtime that is gone, and what its program was
        seen to write; None if the look is lost. Raises OSError.
        """
        with self._lock:
            place = self._reopen(str(reference.get("slot", "")))
            if place is None:
                return None
            moment = Moment(str(reference.get("name", "")), int(reference.get("length", 0)))
            trees = place.manifest.load_moment(moment)
            if trees is None or any(top.path not in trees for top in self._tops):
                return None
            usage = Usage()
            self._trees = {top.path: trees[top.path].count_in(usage) for top in self._tops}
            place.manifest.restart()
            name = Path(str(reference.get("notes") or "none")).name
            noted = read_notes(str(place.directory / "notes" / name))
            return self._look(Before(None, self._trees, usage), tells=True), noted

    def hand_over(self, digest: str, size: int, blobs: Blobs) -> bool:
        """Put a copied content among the old contents."""
        with self._lock:
            return self._open().contents.hand_over(digest, size, blobs)

    def close(self) -> None:
        """Let go of the place; its copies stay for the next runtime, unless temporary."""
        with self._lock:
            self._presence.close()
            if self._place is not None:
                self._place.close()
                self._place = None
                self._trees = {}
            if self._temporary:
                shutil.rmtree(self._home, ignore_errors=True)

    @property
    def _usage(self) -> Usage:
        return self._trees[self._tops[0].path].usage

    def _look(self, before: Before, *, tells: bool) -> Look:
        means = Means(
            self._opener,
            self._open().contents,
            self._limits,
            self._hidden,
            before.usage,
        )
        deltas, unseen = list[Delta](), 0
        left, marks = dict[str, str](), dict[str, tuple[int, ...]]()
        for top in self._tops:
            seed = None if before.trees is self._trees else self._trees.get(top.path)
            walk = Walk(top, before.trees[top.path], means, tells=tells, seed=seed)
            rels = None if before.scopes is None else _within(before.scopes, top.number)
            if rels is None or "" in rels:
                walk.whole()
            else:
                walk.places(rels)
            deltas += walk.found.deltas
            unseen += walk.found.unseen
            left |= {_absolute(top, rel): why for rel, why in walk.found.left.items()}
            marks |= {_absolute(top, rel): mark for rel, mark in walk.repositories.items()}
        moved = tuple(path for path in marks if marks[path] != before.repositories.get(path))
        before.repositories = marks
        return Look(tuple(deltas), left, unseen, moved)

    def _widened(self, scopes: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        """A place in a directory that does not exist: the first that does not, with all in it."""
        found = set()
        for root, rel in scopes:
            names = rel.split("/")
            for count in range(1, len(names) + 1):
                part = "/".join(names[:count])
                if count == len(names) or not self._there(root, part):
                    found.add((root, part))
                    break
        return [
            (root, rel)
            for root, rel in sorted(found)
            if not any(root == one and rel.startswith(f"{top}/") for one, top in found)
        ]

    def _there(self, root: int, rel: str) -> bool:
        try:
            handle = self._opener(self._tops[root].handle, os.fsencode(rel), os.O_PATH)
        except OSError:
            return False
        os.close(handle)
        return True

    def _tidy(self, place: _Place) -> None:
        if self._usage.stale > _MOST_STALE:
            trees = [
                *self._trees.values(),
                *(t for one in self._pinned for t in one.trees.values()),
            ]
            place.contents.sweep({digest for tree in trees for digest in tree.digests()})
            self._usage.stale = 0

    def _open(self) -> _Place:
        """The place of this runtime: the first that nobody else has."""
        if self._place is None:
            for number in range(_SLOTS):
                place = _claim(self._home / str(number))
                if place is not None:
                    self._use(place)
                    return place
            raise OSError(f"all {_SLOTS} places in {self._home} are in use")
        return self._place

    def _reopen(self, slot: str) -> _Place | None:
        """The very place of a runtime that is gone."""
        if self._place is not None and self._place.directory.name != slot:
            return None
        if self._place is None and slot.isdigit() and (self._home / slot).is_dir():
            place = _claim(self._home / slot)
            if place is not None:
                self._use(place)
        return self._place

    def _use(self, place: _Place) -> None:
        self._place = place
        self._trees = place.manifest.load([top.path for top in self._tops])


class _Place:
    def __init__(self, directory: Path, handle: int) -> None:
        self.directory = directory
        self.contents = Contents(directory / "contents")
        self.manifest = Manifest(directory)
        self._handle = handle

    def close(self) -> None:
        os.close(self._handle)


def _claim(directory: Path) -> _Place | None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = os.open(directory / "lock", flags, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return _Place(directory, handle)


def _within(scopes: Sequence[tuple[int, str]], number: int) -> list[str]:
    return [rel for root, rel in scopes if root == number]


def _absolute(top: Top, rel: str) -> str:
    return f"{top.path.rstrip('/')}/{rel}" if rel else top.path
