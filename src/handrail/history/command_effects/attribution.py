"""Whose doing a change is that happened while a command ran.

A change counts as the command's only where something speaks for it. Everything else is
`unattributed`: listed, and not taken back unless it is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from handrail.core.places import Form
from handrail.core.ports.snapshots import EntryChange, ObservedWrites

# Time stamps of files are given out in ticks of the kernel's clock.
TICK_NS: Final = 20_000_000

AFTER: Final = "it was changed after the command had ended"
BEFORE: Final = "it was changed before the command began"
UNSEEN: Final = "no process of the command was seen to write it"
BOTH: Final = "somebody else had changed it before the command did"
OTHERS: Final = "something else was at work in the workspace at that time"
# The command may have had a hand in it all the same.
PERHAPS: Final = frozenset({BOTH, OTHERS})


@dataclass(frozen=True, slots=True)
class CommandInterval:
    """When the look before began, when the command did, and when it had ended."""

    looked_ns: int
    started_ns: int
    ended_ns: int


@dataclass(frozen=True)
class Evidence:
    """What is known of one command. `derived` are the paths that its text shows as written,
    trees with a slash at the end. `noted` is what its processes were seen to write, None if
    nobody could watch. `others`: another program of ours may have been writing.
    """

    window: CommandInterval
    derived: tuple[str, ...] = ()
    noted: ObservedWrites | None = None
    others: bool = False

    def with_folders(self, made: Set[str]) -> Evidence:
        """The same for a command that made these folders: one that its text names as written
        is its doing with all that is in it, and so is one that was made for what it names.
        """
        named = [path.rstrip("/") for path in self.derived]
        trees = [f"{path}/" for path in named if path in made]
        around = {folder for path in named for folder in _folders_above(path)}
        return replace(self, derived=(*self.derived, *trees, *(made & around)))

    def against(self, delta: EntryChange, absolute: str) -> str | None:
        """Why a change is not the command's; None if it is."""
        when = self._time(delta)
        if when is not None:
            return when
        if self.noted is not None and not self.noted.blind:
            return _by_notes(self.noted, self._moved, delta, absolute)
        if self.others and not self._written.covers(absolute):
            return OTHERS
        return None

    @cached_property
    def _written(self) -> PathCover:
        return PathCover(self.derived)

    @cached_property
    def _moved(self) -> PathCover:
        return PathCover(() if self.noted is None else self.noted.trees)

    def _time(self, delta: EntryChange) -> str | None:
        if delta.after is None:
            return None
        changed, window = delta.after.changed_ns, self.window
        if changed > window.ended_ns:
            return AFTER
        # What comes with a directory that is moved keeps its times: only what was there before
        # tells by them that it was changed too early.
        early = window.looked_ns <= changed < window.started_ns - TICK_NS
        return BEFORE if early and delta.before is not None else None


class PathCover:
    """Some paths, trees with a slash at the end; asked for as many others as there are."""

    def __init__(self, paths: Iterable[str]) -> None:
        found = list(paths)
        self._files = {path.rstrip("/") for path in found}
        self._trees = {path.rstrip("/") for path in found if path.endswith("/")}

    def covers(self, absolute: str) -> bool:
        """Whether a path is one of these, or lies in one that is a tree."""
        return absolute in self._files or not self._trees.isdisjoint(_folders_above(absolute))


def _folders_above(path: str) -> list[str]:
    """The folders above an absolute path, the lowest first; that of the root is empty."""
    found = []
    while "/" in path:
        path = path.rpartition("/")[0]
        found.append(path)
    return found


def _by_notes(
    noted: ObservedWrites, moved: PathCover, delta: EntryChange, absolute: str
) -> str | None:
    if absolute not in noted.files:
        return None if moved.covers(absolute) else UNSEEN
    before, met = delta.before, noted.files[absolute]
    # The size and times of a folder are those of its entries, and not looked at.
    if before is None or met is None or before.form is Form.FOLDER:
        return None
    # Not as it was looked at when the command came to it: somebody was faster.
    return BOTH if met != (before.size, before.written_ns) else None
