"""What a command changed, in the shape in which plans are recorded, so that undo takes it back.

Only what can be restored byte by byte is a change; all else is `left_out`, with the reason.
Blocks: old contents are put where undo finds them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from handrail.core.places import Kind, shown
from handrail.core.ports import Blobs, Files
from handrail.core.problems import ProblemRaised
from handrail.core.results import ChangeRecord
from handrail.core.shadows import Delta, Form, Look, Shadow, Sight
from handrail.history.effects_evidence import Evidence

_MOST_CHANGES: Final = 20_000
# Of what cannot be brought back: a program can make links without end.
_RECORDED: Final = 2_000
_LISTED: Final = 50
_TOLD: Final = 5
_HASHED_BYTES: Final = 256 << 20
_CHUNK: Final = 1 << 20

NO_TEXT: Final = "its name is not valid UTF-8"
LINKED: Final = "it has other names (hard links)"
REPLACED: Final = "it is another kind of thing now"
UNSURE: Final = "it could not be looked at"
MANY: Final = f"the command changed more than {_MOST_CHANGES:,} files"
REPOSITORY: Final = "git keeps its own history"
SPECIAL: Final = "it is a special file"
OUTSIDE: Final = "nothing held the command inside the workspace"
_OTHER: Final = {Form.LINK: "it is a link", Form.FOLDER: "it is a folder"}

State = Literal["full", "partial", "none"]


@dataclass(slots=True)
class Report:
    """What a command did to files.

    `changes` and `unattributed` are described as those of plans are. `others` are links and
    folders without files. `left_out` is what undo cannot bring back: path → why.
    """

    changes: list[dict[str, Any]] = field(default_factory=list)
    unattributed: list[dict[str, Any]] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    # Why a change is nobody's, by its path.
    doubts: dict[str, str] = field(default_factory=dict)
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
            "others": self.others[:_RECORDED],
            "left_out": list(self.left_out)[:_RECORDED],
            "left_out_count": len(self.left_out),
            "reasons": dict(list(self.left_out.items())[:_RECORDED]),
            "doubts": self.doubts,
        }

    def to_meta(self) -> dict[str, Any]:
        """For the result: the word, and the paths that it does not cover."""
        meta: dict[str, Any] = {"undo": self.undo}
        if self.left_out:
            meta["undo_left_out"] = dict(list(self.left_out.items())[:_LISTED])
            meta["undo_left_out_count"] = len(self.left_out)
        if self.unattributed:
            meta["unattributed"] = [one["path"] for one in self.unattributed[:_LISTED]]
            meta["unattributed_count"] = len(self.unattributed)
        return meta

    def remarks(self) -> list[str]:
        """What the model and the person should hear of it."""
        found = []
        if self.lost:
            why = self.left_out[self.lost[0]]
            found.append(f"[handrail: undo cannot bring back {_some(self.lost)}: {why}]")
        if self.unattributed:
            listed = _some([one["path"] for one in self.unattributed])
            found.append(
                f"[handrail: {listed}: changed meanwhile, but not known to be this command's "
                "doing; undo leaves it unless it is named]"
            )
        return found

    def records(self) -> tuple[ChangeRecord, ...]:
        """The changes as results tell them."""
        return tuple(
            ChangeRecord(one["path"], one["operation"], one["before_hash"], one["after_hash"])
            for one in self.changes
        )


@dataclass(frozen=True, slots=True)
class Keeping:
    """What a report is made with. `breaks_links`: a file that has other names may be written."""

    files: Files
    shadow: Shadow
    blobs: Blobs
    breaks_links: bool = False


def report_of(look: Look, evidence: Evidence, keeping: Keeping) -> Report:
    """What a look after a command found, told apart by whose doing it is."""
    report = _Writer(keeping, look)
    for delta in sorted(look.deltas, key=lambda one: one[:2]):
        report.write(delta, evidence)
    return report.finish(look)


class _Writer:
    """Puts a report together."""

    def __init__(self, keeping: Keeping, look: Look) -> None:
        self._keeping = keeping
        self._report = Report()
        self._made = {
            (one.root, one.rel)
            for one in look.deltas
            if one.after is not None and one.after.form is Form.FOLDER and one.before is None
        }
        # Folders that come and go with the files in them need no word of their own.
        self._filled = {
            (one.root, folder)
            for one in look.deltas
            if Form.FILE in (_form(one.before), _form(one.after))
            for folder in _above(one.rel)
        }

    def write(self, delta: Delta, evidence: Evidence) -> None:
        """One more difference."""
        path, absolute = self._names(delta)
        doubt = evidence.against(delta, absolute)
        if self._is_file(delta):
            described = self._described(delta, path, absolute, theirs=doubt is not None)
            if described is None:
                return
            if doubt is None:
                self._report.changes.append(described)
            else:
                self._report.unattributed.append(described)
                self._report.doubts[path] = doubt
        elif doubt is None:
            self._other(delta, path)

    def finish(self, look: Look) -> Report:
        """The whole report."""
        report, left = self._report, self._report.left_out
        for path, why in look.left.items():
            left[f"{self._shown(path)}/"] = why
        for path in look.repositories:
            left[self._shown(path)] = REPOSITORY
        if look.unseen:
            left[f"{look.unseen:,} or more new files"] = "there are more files than are looked at"
        return report

    def _described(
        self, delta: Delta, path: str, absolute: str, *, theirs: bool
    ) -> dict[str, Any] | None:
        before, after = delta.before, delta.after
        why = self._why_not(delta, path)
        digest = self._digest(after, path) if not why else None
        if not why and after is not None and digest is None:
            why = UNSURE
        if not why and before is not None:
            why = self._keep(before)
        if why:
            if not theirs:
                self._leave_out(delta, path, why)
            return None
        described: dict[str, Any] = {
            "path": path,
            "absolute": absolute,
            "operation": _operation(before, after),
            "before_hash": before.text if before is not None else None,
            "after_hash": digest,
            "before_mode": before.mode if before is not None else None,
            "after_mode": after.mode if after is not None else None,
            "image": "absent" if before is None else "blob",
        }
        made = self._folders(delta) if before is None else []
        return {**described, "made": made} if made else described

    def _why_not(self, delta: Delta, path: str) -> str:
        before, after = delta.before, delta.after
        if not _is_text(path):
            return NO_TEXT
        if before is not None and after is not None and before.form is not after.form:
            return REPLACED
        if before is not None and before.why:
            return before.why
        several = after is not None and after.links > 1 and before is not None
        if several and not self._keeping.breaks_links:
            return LINKED
        if len(self._report.changes) + len(self._report.unattributed) >= _MOST_CHANGES:
            return MANY
        return ""

    def _keep(self, before: Sight) -> str:
        keeping = self._keeping
        if keeping.shadow.hand_over(before.text, before.size, keeping.blobs):
            return ""
        return "there was no room left to keep it"

    def _digest(self, after: Sight | None, path: str) -> str | None:
        """The hash of what the command left, to recognise it by."""
        if after is None or after.text:
            return after.text if after is not None else None
        if after.size > _HASHED_BYTES:
            return None
        try:
            place = self._keeping.files.locate(path)
            if place.kind is not Kind.FILE or place.path != path:
                return None
            state, offset = hashlib.sha256(), 0
            while part := self._keeping.files.read_part(place, offset, _CHUNK):
                state.update(part)
                offset += len(part)
        except ProblemRaised:
            return None
        return state.hexdigest()

    def _other(self, delta: Delta, path: str) -> None:
        """A link, a folder without files, or a special file."""
        before, after = delta.before, delta.after
        forms = {one.form for one in (before, after) if one is not None}
        if forms == {Form.FOLDER} and (delta.root, delta.rel) in self._filled:
            return
        if Form.SPECIAL in forms:
            self._leave_out(delta, path, SPECIAL)
            return
        form = after.form if after is not None else before.form if before is not None else Form.LINK
        self._leave_out(delta, path, _OTHER.get(form, REPLACED))
        self._report.others.append({"path": path, "before": _plain(before), "after": _plain(after)})

    def _leave_out(self, delta: Delta, path: str, why: str) -> None:
        """It stays as it is now; so do the new folders that hold it."""
        self._report.leave_out(path, why)
        if delta.after is not None:
            for folder in self._folders(delta):
                if folder not in self._report.left_out:
                    self._report.leave_out(folder, _OTHER[Form.FOLDER])

    def _folders(self, delta: Delta) -> list[str]:
        """The folders that were made for a new file, lowest first."""
        made = []
        for folder in _above(delta.rel):
            if (delta.root, folder) not in self._made:
                break
            made.append(self._names(delta._replace(rel=folder))[0])
        return made

    def _names(self, delta: Delta) -> tuple[str, str]:
        """How a path is shown, and its absolute name."""
        absolute = f"{self._keeping.files.roots[delta.root].rstrip('/')}/{delta.rel}"
        return (absolute if delta.root else delta.rel), absolute

    def _shown(self, absolute: str) -> str:
        top = self._keeping.files.roots[0]
        return "." if absolute == top else absolute.removeprefix(f"{top.rstrip('/')}/")

    @staticmethod
    def _is_file(delta: Delta) -> bool:
        return Form.FILE in (_form(delta.before), _form(delta.after))


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _TOLD} more" if len(paths) > _TOLD else ""
    return ", ".join(shown(path) for path in paths[:_TOLD]) + more


def _form(sight: Sight | None) -> Form | None:
    return None if sight is None else sight.form


def _above(rel: str) -> Sequence[str]:
    """The folders above a path, lowest first."""
    found = []
    while "/" in rel:
        rel = rel.rpartition("/")[0]
        found.append(rel)
    return found


def _operation(before: Sight | None, after: Sight | None) -> str:
    if after is None:
        return "delete"
    return "create" if before is None else "write"


def _plain(sight: Sight | None) -> Mapping[str, Any] | None:
    if sight is None:
        return None
    target = sight.text.encode("utf-8", "backslashreplace").decode()
    return {"form": sight.form.value, "mode": sight.mode, "target": target}


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
