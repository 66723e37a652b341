"""The changes of a command to files, as reported and recorded, and which program made them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal

from handrail.core.places import Form, shown
from handrail.core.ports.snapshots import EntryChange, ObservedWrites
from handrail.core.results import ChangeRecord
from handrail.core.text.listing import first_few
from handrail.history.before_images import is_of_folder

# Time stamps of files are given out in ticks of the kernel's clock.
TICK_NS: Final = 20_000_000

AFTER: Final = "it was changed after the command had ended"
BEFORE: Final = "it was changed before the command began"
UNSEEN: Final = "no process of the command was seen to write it"
BOTH: Final = "somebody else had changed it before the command did"
OTHERS: Final = "something else was at work in the workspace at that time"
# The command may have had a hand in it all the same.
PERHAPS: Final = frozenset({BOTH, OTHERS})

# Of what cannot be restored: a program can make pipes without end.
_RECORDED: Final = 2_000
_LISTED: Final = 50
_TOLD: Final = 5

State = Literal["full", "partial", "none"]


@dataclass(slots=True)
class EffectsReport:
    """What a command did to files.

    `changes` and `unattributed` are described as those of plans are; the latter say in `doubt`
    why they are nobody's. `beside` are paths of others that cannot be restored either.
    `left_out` is what undo cannot restore: path → why.
    """

    changes: list[dict[str, Any]] = field(default_factory=list)
    unattributed: list[dict[str, Any]] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    # Of `left_out`, what the command is known to have changed.
    lost: list[str] = field(default_factory=list)
    # Nothing was looked at.
    blind: bool = False

    def leave_out(self, path: str, why: str) -> None:
        """The command changed it, and undo cannot bring it back."""
        self.left_out[path] = why
        self.lost.append(path)

    @property
    def undo(self) -> State:
        """How much of it can be undone; a command that changed nothing is `full`."""
        if self.blind:
            return "none"
        return "partial" if self.left_out else "full"

    def to_record(self) -> dict[str, Any]:
        """For the `completed` row."""
        return {
            "undo": self.undo,
            "changes": self.changes,
            "unattributed": self.unattributed,
            "left_out": dict(list(self.left_out.items())[:_RECORDED]),
            "left_out_count": len(self.left_out),
        }

    def to_meta(self) -> dict[str, Any]:
        """For the result: the word, and the paths that it does not cover."""
        meta: dict[str, Any] = {"undo": self.undo}
        if self.left_out:
            meta["undo_left_out"] = dict(list(self.left_out.items())[:_LISTED])
            meta["undo_left_out_count"] = len(self.left_out)
        theirs = self._theirs()
        if theirs:
            meta["unattributed"] = theirs[:_LISTED]
            meta["unattributed_count"] = len(theirs)
        return meta

    def remarks(self) -> list[str]:
        """What the model and the user should hear of it."""
        found = []
        for why, paths in list(self._lost_by_reason().items())[:_TOLD]:
            found.append(f"[handrail: undo cannot restore {_some(paths)}: {why}]")
        theirs = self._theirs()
        if theirs:
            found.append(
                f"[handrail: {_some(theirs)}: changed meanwhile, but not known to be this "
                "command's doing; undo leaves it unless it is named]"
            )
        return found

    def records(self) -> tuple[ChangeRecord, ...]:
        """The changes as results tell them: files and links, not the folders around them."""
        return tuple(
            ChangeRecord(one["path"], one["operation"], one["before_hash"], one["after_hash"])
            for one in self.changes
            if not is_of_folder(one)
        )

    def changed(self) -> list[tuple[str, str, str | None, str | None]]:
        """The same, as the `completed` row has them."""
        return [
            (one.path, one.operation, one.before_hash, one.after_hash) for one in self.records()
        ]

    def sentence(self) -> str:
        """The changes as a sentence, for a command whose end was not observed."""
        sure, perhaps = ([str(o["path"]) for o in s] for s in (self.changes, self.unattributed))
        text = f"it changed {_some(sure)}" if sure else "it changed no file for certain"
        return f"{text}; perhaps also {_some(perhaps)}" if perhaps else text

    def _lost_by_reason(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.lost:
            found.setdefault(self.left_out[path], []).append(path)
        return found

    def _theirs(self) -> list[str]:
        return [*(one["path"] for one in self.unattributed), *self.beside]


def _some(paths: Sequence[str]) -> str:
    return first_few((shown(path) for path in paths[:_TOLD]), _TOLD, len(paths))


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
