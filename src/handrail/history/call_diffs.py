"""Diffs of what calls changed, from the contents in their records and those of later calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Final, NamedTuple

from handrail.core.places import Form
from handrail.core.ports.machine import Blobs, Files
from handrail.core.ports.records import CallRecord, Trace, Where
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.history.before_images import form_after, form_before, load_image
from handrail.history.recorded_diff import rebuild_content
from handrail.history.undo.file_revert import read_current_file
from handrail.history.undo.messages import form_diff, text_diff
from handrail.history.undo.recorded_changes import (
    CallKey,
    FileChange,
    UndoState,
    call_key,
    file_changes,
    is_redo,
    is_undo,
)
from handrail.history.undo.recorded_contents import is_content_in_row

_NOT_KEPT: Final = "the content before this call was not kept"
_DELETED: Final = "a stored content was deleted"
_CHANGED_SINCE: Final = "changed since by someone else; the content after this call is not kept"
_REMOVED_SINCE: Final = "removed since by someone else; the content after this call is not kept"


class FileDiff(NamedTuple):
    """The diff of one file; `diff` None: one of its contents is unknown, and `reason` says why."""

    path: str
    operation: str
    standing: bool
    diff: str | None
    reason: str | None = None


class ChangedContent(NamedTuple):
    """The contents of a file before and after a call; None if it did not exist."""

    path: str
    before: Content | None
    after: Content | None


class _FoundCall(NamedTuple):
    """A call with the undo state after it, and the later changes by path and the hash they replaced."""

    trace: Trace
    standing: UndoState
    newer: Mapping[tuple[str, str | None], FileChange]


class NetChange(NamedTuple):
    """The net change of one file: its content before the first change and after the last, None if there
    was no file. `reason` says why one of them is unknown. The content of a link is its target. A mode is
    None if it is unknown or there is none.
    """

    path: str
    operation: str
    before: Content | None
    after: Content | None
    reason: str | None = None
    before_form: Form = Form.FILE
    after_form: Form = Form.FILE
    before_mode: int | None = None
    after_mode: int | None = None


def _show_diff(one: NetChange) -> FileDiff:
    if one.reason is not None:
        return FileDiff(one.path, one.operation, standing=True, diff=None, reason=one.reason)
    if one.before_form is one.after_form is Form.FILE:
        diff = text_diff(one.path, one.before, one.after)
    else:
        diff = form_diff(one.path, one.before, one.after, one.before_form, one.after_form)
    return FileDiff(one.path, one.operation, True, diff)


class _UnknownContent(Exception):
    """A content of a change is unknown; the message says why."""


class CallDiffs:
    """Finds old and new contents. `traces` are newest first and are read only as far as needed;
    `contents` returns the old contents in one row.

    The new content of a change is the old content of the next change, the content on disk, or the
    content that can be rebuilt from the record that `find_call` returns.
    """

    def __init__(
        self,
        traces: Iterable[Trace],
        contents: Callable[[int], Mapping[Where, str]],
        blobs: Blobs | None,
        files: Files,
        find_call: Callable[[CallKey], CallRecord | None],
    ) -> None:
        self._traces = traces
        self._load = contents
        self._contents: dict[int, Mapping[Where, str]] = {}
        self._blobs = blobs
        self._files = files
        self._find_call = find_call

    def diffs(self, key: CallKey, most: int | None = None) -> list[FileDiff]:
        """The diffs of one call, at most `most`."""
        call = self._find(key)
        if call is None:
            return []
        return [
            self._diff(step, step, call.newer)._replace(
                operation=str(step.described.get("operation", "?")),
                standing=call.standing.holds(call.trace, step.path),
            )
            for step in islice(file_changes(call.trace), most)
        ]

    def contents(self, key: CallKey) -> list[ChangedContent]:
        """The files of one call whose contents before and after it are known."""
        call = self._find(key)
        if call is None:
            return []
        found = []
        for step in file_changes(call.trace):
            with suppress(_UnknownContent):
                before, after = self._before(step), self._after(step, call.newer)
                found.append(ChangedContent(step.path, before, after))
        return found

    def _find(self, key: CallKey) -> _FoundCall | None:
        standing = UndoState()
        newer: dict[tuple[str, str | None], FileChange] = {}
        for trace in self._traces:
            standing.meet(trace)
            if call_key(trace) == key:
                return _FoundCall(trace, standing, newer)
            for step in file_changes(trace):
                newer.setdefault((step.path, step.described.get("before_hash")), step)
        return None

    def net_diffs(self, keep: Callable[[Trace], bool]) -> list[FileDiff]:
        """The net diffs of the calls for which `keep` is true, one for each file: from before its first
        change to after its last. Changes that were undone are left out.
        """
        return [_show_diff(one) for one in self.net_changes(keep)]

    def net_changes(self, keep: Callable[[Trace], bool]) -> list[NetChange]:
        """The net changes of `net_diffs`, with the contents instead of diffs."""
        standing = UndoState()
        newer: dict[tuple[str, str | None], FileChange] = {}
        first: dict[str, FileChange] = {}
        last: dict[str, tuple[FileChange, Mapping[tuple[str, str | None], FileChange]]] = {}
        for trace in self._traces:
            standing.meet(trace)
            steps = file_changes(trace)
            if keep(trace) and not is_undo(trace) and not is_redo(trace):
                for step in (one for one in steps if standing.holds(trace, one.path)):
                    key = (step.path, step.described.get("after_hash"))
                    kept = {key: newer[key]} if key in newer else {}
                    last.setdefault(step.path, (step, kept))
                    first[step.path] = step
            for step in steps:
                newer.setdefault((step.path, step.described.get("before_hash")), step)
        return [self._change(first[path], *last[path]) for path in sorted(first)]

    def _diff(
        self,
        first: FileChange,
        last: FileChange,
        newer: Mapping[tuple[str, str | None], FileChange],
    ) -> FileDiff:
        return _show_diff(self._change(first, last, newer))

    def _change(
        self,
        first: FileChange,
        last: FileChange,
        newer: Mapping[tuple[str, str | None], FileChange],
    ) -> NetChange:
        created = first.described.get("before_hash") is None
        deleted = last.described.get("after_hash") is None
        operation = "created" if created else "deleted" if deleted else "modified"
        try:
            before, after = self._before(first), self._after(last, newer)
        except _UnknownContent as error:
            return NetChange(first.path, operation, None, None, str(error))
        return NetChange(
            first.path,
            operation,
            before,
            after,
            before_form=form_before(first.described),
            after_form=form_after(last.described),
            before_mode=first.described.get("before_mode"),
            after_mode=last.described.get("after_mode"),
        )

    def _before(self, step: FileChange) -> Content | None:
        try:
            return load_image(self._whole(step), self._blobs)
        except ProblemRaised:
            kept = step.described.get("image") != "none"
            raise _UnknownContent(_DELETED if kept else _NOT_KEPT) from None

    def _after(
        self, step: FileChange, newer: Mapping[tuple[str, str | None], FileChange]
    ) -> Content | None:
        digest = step.described.get("after_hash")
        if digest is None:
            return None
        kept = newer.get((step.path, digest))
        if kept is not None:
            with suppress(_UnknownContent):
                return self._before(kept)
        try:
            now = read_current_file(step.path, self._files)
        except ProblemRaised:
            now = None
        if now is not None and now.digest == digest:
            return now.content
        found = self._rebuild(step, str(digest))
        if found is not None:
            return found
        if kept is not None:
            raise _UnknownContent(_DELETED)
        gone = now is not None and now.content is None and not now.unsupported
        raise _UnknownContent(_REMOVED_SINCE if gone else _CHANGED_SINCE)

    def _rebuild(self, step: FileChange, digest: str) -> Content | None:
        call = self._find_call(step.key)
        if call is None or "after_form" in step.described:
            return None
        with suppress(_UnknownContent):
            return rebuild_content(call, step.path, self._before(step), digest)
        return None

    def _whole(self, step: FileChange) -> Mapping[str, Any]:
        if not is_content_in_row(step):
            return {**step.described, "before": ""}
        if step.row not in self._contents:
            self._contents[step.row] = self._load(step.row)
        return {**step.described, "before": self._contents[step.row][step.where]}
