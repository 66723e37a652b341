"""What a call will touch, computed before it runs.

Permissions, locks, the record and scheduling all use this value, so they cannot disagree. Keys are
canonical (symlinks are resolved): two spellings of one file have the same key.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalysis


class Access(StrEnum):
    """How a key is touched."""

    READ = "read"
    WRITE = "write"


class Touch(NamedTuple):
    """One key and how it is touched.

    Keys: `file:/abs/path`, `tree:/abs/dir` (everything beneath), `session:name`, `net:host`,
    `job:3`, `agent:explore-1f2e3d4c`.
    """

    key: str
    access: Access


class Footprint(NamedTuple):
    """Everything that a call touches. `open_ended`: what it touches cannot be known before it runs.

    `command` is the analysis of the command that the call would run, if it runs one.
    `alone`: the call runs after all earlier calls and before all later ones, whatever they touch.
    """

    touches: tuple[Touch, ...] = ()
    open_ended: bool = False
    command: CommandAnalysis | None = None
    alone: bool = False

    @property
    def reads_only(self) -> bool:
        """Whether the call changes nothing."""
        if self.open_ended:
            return False
        # A loop, not `all`: it is faster than a generator, and every call uses this property.
        for _, access in self.touches:  # noqa: SIM110
            if access is Access.WRITE:
                return False
        return True

    @property
    def may_change_files(self) -> bool:
        """Whether files may be different after the call."""
        if self.open_ended or self.command is not None:
            return True
        return any(
            access is Access.WRITE and key.startswith(("file:", "tree:"))
            for key, access in self.touches
        )

    def conflicts_with(self, other: Footprint) -> bool:
        """Whether two calls must not run at the same time and must keep their order."""
        if self.alone or other.alone:
            return True
        if self.open_ended or other.open_ended:
            return not (self.empty or other.empty)
        return any(
            (mine.access is Access.WRITE or theirs.access is Access.WRITE)
            and _overlap(mine.key, theirs.key)
            for mine in self.touches
            for theirs in other.touches
        )

    @property
    def starts_job(self) -> bool:
        """Whether the call leaves a program running in the background."""
        return any(
            touch.key == "session:jobs" and touch.access is Access.WRITE for touch in self.touches
        )

    @property
    def empty(self) -> bool:
        """Whether the call touches nothing that another call could touch."""
        return not self.open_ended and not self.touches


NOTHING: Final = Footprint()
OPEN_ENDED: Final = Footprint(open_ended=True)


def reading(*keys: str) -> Footprint:
    """A footprint that only reads these keys."""
    return Footprint(tuple([Touch(key, Access.READ) for key in keys]))


def writing(*keys: str) -> Footprint:
    """A footprint that writes these keys."""
    return Footprint(tuple([Touch(key, Access.WRITE) for key in keys]))


def _overlap(one: str, two: str) -> bool:
    return one == two or _covers(one, two) or _covers(two, one)


def _covers(tree: str, key: str) -> bool:
    if not tree.startswith("tree:"):
        return False
    top = tree[5:].rstrip("/")
    path = key.partition(":")[2]
    return key.startswith(("file:", "tree:")) and (path == top or path.startswith(top + "/"))
