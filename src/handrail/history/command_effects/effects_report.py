"""The report of a command's changes to files, and the evidence that the command made them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal

from handrail.core.places import Form, folders_above, shown
from handrail.core.ports.snapshots import EntryChange, ObservedWrites
from handrail.core.results import ChangeRecord
from handrail.core.text.listing import first_few
from handrail.history.before_images import is_of_folder

# The resolution of file time stamps: the kernel's clock advances in ticks.
TICK_NS: Final = 20_000_000

AFTER: Final = "it was changed after the command had ended"
BEFORE: Final = "it was changed before the command began"
UNSEEN: Final = "no process of the command was seen to write it"
BOTH: Final = "somebody else had changed it before the command did"
OTHERS: Final = "something else was at work in the workspace at that time"
# Doubts with which the command may nevertheless have made a part of the change.
PERHAPS: Final = frozenset({BOTH, OTHERS})

# How many of the paths that cannot be restored are recorded: a program can create any number of pipes.
_RECORDED: Final = 2_000
_LISTED: Final = 50
_TOLD: Final = 5

State = Literal["full", "partial", "none"]


@dataclass(slots=True)
class EffectsReport:
    """What a command did to files.

    `changes` and `unattributed` have the form of the changes of plans; the latter have a `doubt`, the
    reason why the command may not have made them. `beside` are the paths of unattributed changes that
    undo cannot restore. `left_out` maps the paths that undo cannot restore to the reason.
    """

    changes: list[dict[str, Any]] = field(default_factory=list)
    unattributed: list[dict[str, Any]] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    # The paths of `left_out` that the command is known to have changed.
    lost: list[str] = field(default_factory=list)
    # The changes were not observed at all.
    blind: bool = False

    def leave_out(self, path: str, why: str) -> None:
        """Record that the command changed a path that undo cannot restore."""
        self.left_out[path] = why
        self.lost.append(path)

    @property
    def undo(self) -> State:
        """How much can be undone; "full" for a command that changed nothing."""
        if self.blind:
            return "none"
        return "partial" if self.left_out else "full"

    def to_record(self) -> dict[str, Any]:
        """The form in the `completed` row."""
        return {
            "undo": self.undo,
            "changes": self.changes,
            "unattributed": self.unattributed,
            "left_out": dict(list(self.left_out.items())[:_RECORDED]),
            "left_out_count": len(self.left_out),
        }

    def to_meta(self) -> dict[str, Any]:
        """The `meta` of the result: how much can be undone, and the paths that cannot."""
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
        """Notes for the model and the user about changes that undo does not cover."""
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
        """The changes for the result: those of files and links, without folders."""
        return tuple(
            ChangeRecord(one["path"], one["operation"], one["before_hash"], one["after_hash"])
            for one in self.changes
            if not is_of_folder(one)
        )

    def changed(self) -> list[tuple[str, str, str | None, str | None]]:
        """The changes of `records` in the form of the `completed` row."""
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
    """When the snapshot before a command was started, and when the command began and ended."""

    looked_ns: int
    started_ns: int
    ended_ns: int


@dataclass(frozen=True)
class Evidence:
    """What is known about one command. `derived` are the paths that its text shows as written; trees end
    with a slash. `noted` are the observed writes of its processes, None if they could not be observed.
    `others`: another program of the session may have been writing at the same time.
    """

    window: CommandInterval
    derived: tuple[str, ...] = ()
    noted: ObservedWrites | None = None
    others: bool = False

    def with_folders(self, made: Set[str]) -> Evidence:
        """The evidence for a command that created the folders `made`: a folder that its text shows as
        written counts with its content, and so does a folder that was created for such a path.
        """
        named = [path.rstrip("/") for path in self.derived]
        trees = [f"{path}/" for path in named if path in made]
        around = {folder for path in named for folder in folders_above(path)}
        return replace(self, derived=(*self.derived, *trees, *(made & around)))

    def against(self, delta: EntryChange, absolute: str) -> str | None:
        """Why a change may not have been made by the command; None if it was."""
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
        # Files in a moved directory keep their times, so an early time is evidence only for a file that
        # existed before.
        early = window.looked_ns <= changed < window.started_ns - TICK_NS
        return BEFORE if early and delta.before is not None else None


class PathCover:
    """A set of paths for many lookups; trees end with a slash."""

    def __init__(self, paths: Iterable[str]) -> None:
        found = list(paths)
        self._files = {path.rstrip("/") for path in found}
        self._trees = {path.rstrip("/") for path in found if path.endswith("/")}

    def covers(self, absolute: str) -> bool:
        """Whether a path is in the set or below a tree of the set."""
        return absolute in self._files or not self._trees.isdisjoint(folders_above(absolute))


def _by_notes(
    noted: ObservedWrites, moved: PathCover, delta: EntryChange, absolute: str
) -> str | None:
    if absolute not in noted.files:
        return None if moved.covers(absolute) else UNSEEN
    before, met = delta.before, noted.files[absolute]
    # The size and times of a folder change with its entries, so they are no evidence.
    if before is None or met is None or before.form is Form.FOLDER:
        return None
    # The file had changed between the snapshot and the command's first write.
    return BOTH if met != (before.size, before.written_ns) else None
