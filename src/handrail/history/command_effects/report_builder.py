"""Builds the report of a command's changes in the form of a recorded plan, so that undo can revert it.

Only what can be restored exactly is a change; everything else is `left_out` with the reason. Blocks,
because old contents are copied to the blob store.
"""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import dataclass
from typing import Any, Final

from handrail.core.places import Form, Kind, folders_above
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
    """What the builder uses. `breaks_links`: undo may write a file that has other hard links."""

    files: Files
    shadow: WorkspaceSnapshots
    blobs: Blobs
    breaks_links: bool = False


def build_report(look: TreeDiff, evidence: Evidence, keeping: EffectStorage) -> EffectsReport:
    """The report of the differences after a command, attributed by the evidence."""
    writer = _EffectReportBuilder(keeping, look)
    evidence = evidence.with_folders(writer.made_folders())
    deltas = sorted(look.deltas, key=lambda one: one[:2])
    # Deleted files come before new ones, because a new file may be the moved content of a lost one;
    # folders come last, because a new folder can be removed only if undo removes all its content.
    for delta in sorted(deltas, key=lambda one: (_is_folder(one), one.before is None)):
        writer.write(delta, evidence)
    return writer.finish(look)


class _EffectReportBuilder:
    """Builds one report."""

    def __init__(self, keeping: EffectStorage, look: TreeDiff) -> None:
        self._keeping = keeping
        self._report = EffectsReport()
        self._other_names = look.names
        self._made = {
            (one.root, one.rel) for one in look.deltas if _is_folder(one) and one.before is None
        }
        # Folders with changed content; they need no entry of their own in `unattributed`.
        self._filled = {
            (one.root, folder)
            for one in look.deltas
            if not _is_folder(one)
            for folder in folders_above(one.rel)
        }
        # Folders that were replaced by something else; their content cannot be restored.
        self._shut = {
            (one.root, one.rel)
            for one in look.deltas
            if _form(one.before) is Form.FOLDER and _form(one.after) not in (None, Form.FOLDER)
        }
        # New folders that undo cannot remove, because some of their content stays.
        self._stays: set[tuple[int, str]] = set()
        # The marks of deleted files that cannot be restored (see `_marks`).
        self._lost: set[tuple[object, ...]] = set()

    def made_folders(self) -> set[str]:
        """The absolute paths of new folders."""
        tops = self._keeping.files.roots
        return {f"{tops[root].rstrip('/')}/{rel}" for root, rel in self._made}

    def write(self, delta: EntryChange, evidence: Evidence) -> None:
        """Add one difference to the report."""
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
        """The complete report."""
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
        """The change in the form of a recorded plan, or the reason why it cannot be undone."""
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
        """What undo needs to make a deleted file a hard link again: `link_group` identifies the file that
        all names share, `link_left` are some of the remaining names.
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
        shut = any((delta.root, folder) in self._shut for folder in folders_above(delta.rel))
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
        """The hash of the content after the command; None if it cannot be computed."""
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
        """Leave a change out of undo. The entry stays as it is, and so do new folders above it."""
        self._report.leave_out(path, why)
        if _form(delta.before) is Form.FILE and delta.before is not None:
            self._lost |= _marks(delta.before)
        if delta.after is not None:
            self._stays.update((delta.root, folder) for folder in folders_above(delta.rel))

    def _folders(self, delta: EntryChange) -> list[str]:
        """The folders that were created for a new file, lowest first."""
        made = []
        for folder in folders_above(delta.rel):
            if (delta.root, folder) not in self._made:
                break
            made.append(self._names(delta._replace(rel=folder))[0])
        return made

    def _names(self, delta: EntryChange) -> tuple[str, str]:
        """The path as it is shown, and the absolute path."""
        absolute = f"{self._keeping.files.roots[delta.root].rstrip('/')}/{delta.rel}"
        return (absolute if delta.root else delta.rel), absolute

    def _shown(self, absolute: str) -> str:
        top = self._keeping.files.roots[0]
        return "." if absolute == top else absolute.removeprefix(f"{top.rstrip('/')}/")


def _form(sight: FileState | None) -> Form | None:
    return None if sight is None else sight.form


def _is_folder(delta: EntryChange) -> bool:
    """Whether a folder was created, was deleted or has other permissions."""
    return {_form(delta.before), _form(delta.after)} <= {Form.FOLDER, None}


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
    """The target of a link; empty for a folder."""
    return os.fsencode(sight.text)


def _bits(sight: FileState) -> int:
    """The set-uid, set-gid and sticky bits of a file, which undo does not restore."""
    return sight.mode & ~_PERMISSIONS if sight.form is Form.FILE else 0


def _mode(before: FileState | None) -> int | None:
    if before is None or before.form is Form.LINK:
        return None
    return before.mode & ~_bits(before)


def _marks(sight: FileState) -> set[tuple[object, ...]]:
    """Keys that recognize a moved or copied file under another name. An inode alone is not sufficient,
    because it can be reused.
    """
    if sight.form is not Form.FILE or not sight.size:
        return set()
    moved = (sight.inode, sight.size, sight.written_ns)
    return {moved, (sight.text,)} if sight.text else {moved}
