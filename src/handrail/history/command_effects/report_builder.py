"""What a command changed, in the shape in which plans are recorded, so that undo takes it back.

Only what can be restored exactly is a change; all else is `left_out`, with the reason.
Blocks: old contents are put where undo finds them.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from handrail.core.places import Form, Kind
from handrail.core.plan import content_hash
from handrail.core.ports.machine import Blobs, Files
from handrail.core.ports.snapshots import EntryChange, FileState, TreeDiff, WorkspaceSnapshots
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.history.before_images import describe_forms
from handrail.history.command_effects.effects_report import PERHAPS, EffectsReport, Evidence

_MOST_CHANGES: Final = 100_000
_HASHED_BYTES: Final = 256 << 20
_CHUNK: Final = 1 << 20
_PERMISSIONS: Final = 0o777

MOVED: Final = "it is all that is left of a file that undo cannot restore"
LINKED: Final = "it has other names (hard links)"
REPLACED: Final = "a folder and another kind of thing took each other's place"
UNSURE: Final = "it could not be looked at"
MANY: Final = f"the command changed more than {_MOST_CHANGES:,} files"
REPOSITORY: Final = "git keeps its own history"
SPECIAL: Final = "it is a special file"
HOLDS: Final = "it holds something that undo leaves"
BITS: Final = "its content comes back, its set-uid, set-gid or sticky bit does not"
OUTSIDE: Final = "nothing held the command inside the workspace"


@dataclass(frozen=True, slots=True)
class EffectStorage:
    """What a report is made with. `breaks_links`: a file that has other names may be written."""

    files: Files
    shadow: WorkspaceSnapshots
    blobs: Blobs
    breaks_links: bool = False


def build_report(look: TreeDiff, evidence: Evidence, keeping: EffectStorage) -> EffectsReport:
    """What a look after a command found, by who made the change."""
    writer = _EffectReportBuilder(keeping, look)
    evidence = evidence.with_folders(writer.made_folders())
    deltas = sorted(look.deltas, key=lambda one: one[:2])
    # What is lost must be known before what is new, where it may live on; and whether a new
    # folder can go again once all that is in it was looked at.
    for delta in sorted(deltas, key=lambda one: (_is_folder(one), one.before is None)):
        writer.write(delta, evidence)
    return writer.finish(look)


class _EffectReportBuilder:
    """Puts a report together."""

    def __init__(self, keeping: EffectStorage, look: TreeDiff) -> None:
        self._keeping = keeping
        self._report = EffectsReport()
        self._other_names = look.names
        self._made = {
            (one.root, one.rel) for one in look.deltas if _is_folder(one) and one.before is None
        }
        # Folders that come and go with what is in them need no word of their own.
        self._filled = {
            (one.root, folder)
            for one in look.deltas
            if not _is_folder(one)
            for folder in _above(one.rel)
        }
        # What was in a folder that is something else now has no place to come back to.
        self._shut = {
            (one.root, one.rel)
            for one in look.deltas
            if _form(one.before) is Form.FOLDER and _form(one.after) not in (None, Form.FOLDER)
        }
        # New folders that will not be empty.
        self._stays: set[tuple[int, str]] = set()
        # What marks files that are gone and cannot be restored.
        self._lost: set[tuple[object, ...]] = set()

    def made_folders(self) -> set[str]:
        """The absolute names of the folders that are new."""
        tops = self._keeping.files.roots
        return {f"{tops[root].rstrip('/')}/{rel}" for root, rel in self._made}

    def write(self, delta: EntryChange, evidence: Evidence) -> None:
        """One more difference."""
        path, absolute = self._names(delta)
        doubt = evidence.against(delta, absolute)
        described = self._described(delta, path, absolute)
        report = self._report
        if isinstance(described, str):
            if doubt is None:
                self._leave_out(delta, path, described)
            else:
                report.beside.append(path)
        elif doubt is None:
            report.changes.append(described)
            if delta.before is not None and _bits(delta.before):
                report.leave_out(path, BITS)
        elif not _is_folder(delta) or (delta.root, delta.rel) not in self._filled:
            report.unattributed.append({**described, "doubt": doubt})
            if doubt in PERHAPS:
                report.left_out[path] = doubt

    def finish(self, look: TreeDiff) -> EffectsReport:
        """The whole report."""
        report, left = self._report, self._report.left_out
        report.changes.sort(key=lambda one: str(one["absolute"]))
        for path, why in look.left.items():
            left[f"{self._shown(path)}/"] = why
        for path, moved in look.repositories.items():
            left[self._shown(path)] = moved or REPOSITORY
        if look.unseen:
            left[f"{look.unseen:,} or more new files"] = "there are more files than are looked at"
        return report

    def _described(self, delta: EntryChange, path: str, absolute: str) -> dict[str, Any] | str:
        """The change as a plan's record has it, or why it cannot be undone."""
        before, after = delta.before, delta.after
        why = self._why_not(delta, path)
        digest = self._digest(after, path) if not why else None
        if not why and after is not None and digest is None:
            why = UNSURE
        if why or (why := self._keep(before)):
            return why
        described: dict[str, Any] = {
            "path": path,
            "absolute": absolute,
            "operation": _operation(before, after),
            "before_hash": _hash(before),
            "after_hash": digest,
            "before_mode": _mode(before),
            "after_mode": None if after is None or after.form is Form.LINK else after.mode,
            "image": _image(before),
            **describe_forms(_form(before) or Form.FILE, _form(after) or Form.FILE),
        }
        described.update(self._links(delta))
        if before is not None and before.form is not Form.FILE:
            described["before"] = base64.b64encode(_bytes(before)).decode("ascii")
        made = self._folders(delta) if before is None and not _is_folder(delta) else []
        return {**described, "made": made} if made else described

    def _links(self, delta: EntryChange) -> dict[str, Any]:
        """What makes a file that is gone a name of the same file again: `link_group` is shared by
        all of its names, `link_left` are some that stayed.
        """
        names = self._other_names.get((delta.root, delta.rel))
        if names is None:
            return {}
        left = [self._names(delta._replace(root=root, rel=rel))[0] for root, rel in names.left]
        return {"link_group": [names.device, names.inode], "link_left": left}

    def _why_not(self, delta: EntryChange, path: str) -> str:
        before, after = delta.before, delta.after
        why = self._why_not_this_kind(delta)
        if why:
            return why
        if before is not None and before.why:
            return before.why
        if before is None and after is not None and self._lost & _marks(after):
            return MOVED
        several = after is not None and after.form is Form.FILE and after.links > 1
        if several and before is not None and not self._keeping.breaks_links:
            return LINKED
        if len(self._report.changes) + len(self._report.unattributed) >= _MOST_CHANGES:
            return MANY
        return ""

    def _why_not_this_kind(self, delta: EntryChange) -> str:
        forms = {one.form for one in (delta.before, delta.after) if one is not None}
        if Form.SPECIAL in forms:
            return SPECIAL
        shut = any((delta.root, folder) in self._shut for folder in _above(delta.rel))
        if shut or (Form.FOLDER in forms and len(forms) > 1):
            return REPLACED
        if _form(delta.after) is Form.LINK and delta.after is not None and delta.after.why:
            return delta.after.why
        return HOLDS if delta.before is None and (delta.root, delta.rel) in self._stays else ""

    def _keep(self, before: FileState | None) -> str:
        keeping = self._keeping
        if before is None or before.form is not Form.FILE:
            return ""
        if keeping.shadow.export_content(before.text, before.size, keeping.blobs):
            return ""
        return "there was no room left to keep it"

    def _digest(self, after: FileState | None, path: str) -> str | None:
        """What the command left, to recognise it by."""
        if after is None or after.text or after.form is not Form.FILE:
            return _hash(after)
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

    def _leave_out(self, delta: EntryChange, path: str, why: str) -> None:
        """It stays as it is now; so do the new folders that hold it."""
        self._report.leave_out(path, why)
        if _form(delta.before) is Form.FILE and delta.before is not None:
            self._lost |= _marks(delta.before)
        if delta.after is not None:
            self._stays.update((delta.root, folder) for folder in _above(delta.rel))

    def _folders(self, delta: EntryChange) -> list[str]:
        """The folders that were made for a new file, lowest first."""
        made = []
        for folder in _above(delta.rel):
            if (delta.root, folder) not in self._made:
                break
            made.append(self._names(delta._replace(rel=folder))[0])
        return made

    def _names(self, delta: EntryChange) -> tuple[str, str]:
        """How a path is shown, and its absolute name."""
        absolute = f"{self._keeping.files.roots[delta.root].rstrip('/')}/{delta.rel}"
        return (absolute if delta.root else delta.rel), absolute

    def _shown(self, absolute: str) -> str:
        top = self._keeping.files.roots[0]
        return "." if absolute == top else absolute.removeprefix(f"{top.rstrip('/')}/")


def _form(sight: FileState | None) -> Form | None:
    return None if sight is None else sight.form


def _is_folder(delta: EntryChange) -> bool:
    """Whether a folder came, went or has other permissions, and is nothing else."""
    return {_form(delta.before), _form(delta.after)} <= {Form.FOLDER, None}


def _above(rel: str) -> Sequence[str]:
    """The folders above a path, lowest first."""
    found = []
    while "/" in rel:
        rel = rel.rpartition("/")[0]
        found.append(rel)
    return found


def _operation(before: FileState | None, after: FileState | None) -> str:
    if after is None:
        return "delete"
    return "create" if before is None else "write"


def _image(before: FileState | None) -> str:
    if before is None:
        return "absent"
    return "blob" if before.form is Form.FILE else "inline"


def _hash(sight: FileState | None) -> str | None:
    if sight is None or sight.form is Form.FILE:
        return None if sight is None else sight.text
    return content_hash(Content(_bytes(sight)), sight.form)


def _bytes(sight: FileState) -> bytes:
    """Where a link leads; a folder has no content of its own."""
    return os.fsencode(sight.text)


def _bits(sight: FileState) -> int:
    """Bits of a file that let it run as somebody else, which no write restores."""
    return sight.mode & ~_PERMISSIONS if sight.form is Form.FILE else 0


def _mode(before: FileState | None) -> int | None:
    if before is None or before.form is Form.LINK:
        return None
    return before.mode & ~_bits(before)


def _marks(sight: FileState) -> set[tuple[object, ...]]:
    """What a file is known by under another name: moved, or copied. An inode is given out again."""
    if sight.form is not Form.FILE or not sight.size:
        return set()
    moved = (sight.inode, sight.size, sight.written_ns)
    return {moved, (sight.text,)} if sight.text else {moved}
