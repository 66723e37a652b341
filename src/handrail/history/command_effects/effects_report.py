"""What a command did to files, as it is told and recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from handrail.core.places import shown
from handrail.core.results import ChangeRecord
from handrail.core.text.listing import first_few
from handrail.history.before_images import is_of_folder

# Of what cannot be brought back: a program can make pipes without end.
_RECORDED: Final = 2_000
_LISTED: Final = 50
_TOLD: Final = 5

State = Literal["full", "partial", "none"]


@dataclass(slots=True)
class EffectsReport:
    """What a command did to files.

    `changes` and `unattributed` are described as those of plans are; the latter say in `doubt`
    why they are nobody's. `beside` are paths of others that nobody could bring back either.
    `left_out` is what undo cannot bring back: path → why.
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
        """How much of it can be taken back; a command that changed nothing is `full`."""
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
        """What the model and the person should hear of it."""
        found = []
        for why, paths in list(self._lost_by_reason().items())[:_TOLD]:
            found.append(f"[handrail: undo cannot bring back {_some(paths)}: {why}]")
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

    def told(self) -> str:
        """In words, where nobody saw how it ended."""
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
