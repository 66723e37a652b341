"""What a call changed, shown again: from the contents that its record and later ones keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from handrail.core.ports.machine import Blobs, Files
from handrail.core.ports.records import Trace, Where
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.history.before_images import load_image
from handrail.history.undo.file_revert import read_current_file
from handrail.history.undo.messages import text_diff
from handrail.history.undo.recorded_changes import (
    CallKey,
    FileChange,
    UndoState,
    call_key,
    file_changes,
)
from handrail.history.undo.recorded_contents import is_content_in_row


class FileDiff(NamedTuple):
    """One file of a call; `diff` None: one of its contents is no longer known."""

    path: str
    operation: str
    standing: bool
    diff: str | None


class CallDiffs:
    """Finds old and new contents. `traces` are newest first; `payload` gives one row in full.
    The new content of a change is the old one of the next, or what is on disk.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        contents: Callable[[int], Mapping[Where, str]],
        blobs: Blobs | None,
        files: Files,
    ) -> None:
        self._traces = traces
        self._load = contents
        self._contents: dict[int, Mapping[Where, str]] = {}
        self._blobs = blobs
        self._files = files

    def diffs(self, key: CallKey) -> list[FileDiff]:
        """The files of one call."""
        standing = UndoState()
        newer: dict[tuple[str, str | None], FileChange] = {}
        for trace in self._traces:
            standing.meet(trace)
            steps = file_changes(trace)
            if call_key(trace) == key:
                return [
                    FileDiff(
                        step.path,
                        str(step.described.get("operation", "?")),
                        standing.holds(trace, step.path),
                        self._diff(step, newer),
                    )
                    for step in steps
                ]
            for step in steps:
                newer.setdefault((step.path, step.described.get("before_hash")), step)
        return []

    def _diff(
        self, step: FileChange, newer: Mapping[tuple[str, str | None], FileChange]
    ) -> str | None:
        try:
            before = load_image(self._whole(step), self._blobs)
            after = self._after(step, newer)
        except ProblemRaised:
            return None
        return text_diff(step.path, before, after)

    def _after(
        self, step: FileChange, newer: Mapping[tuple[str, str | None], FileChange]
    ) -> Content | None:
        digest = step.described.get("after_hash")
        if digest is None:
            return None
        kept = newer.get((step.path, digest))
        if kept is not None:
            return load_image(self._whole(kept), self._blobs)
        now = read_current_file(step.path, self._files)
        if now.digest != digest:
            raise ProblemRaised("not_found", f"the new content of {step.path!r} is not known")
        return now.content

    def _whole(self, step: FileChange) -> Mapping[str, Any]:
        if not is_content_in_row(step):
            return {**step.described, "before": ""}
        if step.row not in self._contents:
            self._contents[step.row] = self._load(step.row)
        return {**step.described, "before": self._contents[step.row][step.where]}
