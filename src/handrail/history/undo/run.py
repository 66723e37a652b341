"""An undo or a redo of any number of files, carried out in parts.

Every file is checked before the first part, so that a conflict is reported before anything is changed.
Each part is a plan that is announced and committed on its own: after a crash or a failure some parts
are complete, and the next undo continues with the remaining files. The size of a part limits memory and
open files.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from anyio import to_thread

from handrail.core.places import Form, shown
from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import Blobs, Files
from handrail.history.before_images import is_of_folder
from handrail.history.temporary_permissions import add_permission_grants
from handrail.history.undo import messages as words
from handrail.history.undo.file_revert import (
    FileRevert,
    LostImage,
    make_change,
    plan_file_revert,
    read_current_file,
)
from handrail.history.undo.recorded_changes import CallKey, FileChange, RevertedCall, name_call
from handrail.history.undo.recorded_contents import LinkGroups, RecordedImages

# Limits of one part, whose contents are in memory. An undo by the user continues with the next part
# automatically; a model has to call again, so its parts are larger.
PART_FILES: Final = 1000
PART_BYTES: Final = 8 << 20
MODEL_PART_BYTES: Final = 256 << 20
# File handles for each file (its directory, its new content and a lock), and those left for others.
_HANDLES_EACH: Final = 3
_HANDLES_LEFT: Final = 256
# The most conflicts that are stored for the report; the others are only counted.
_CONFLICTS_KEPT: Final = 50


@dataclass(slots=True)
class UndoGoal:
    """What is undone or redone. `steps` are the changes, newest first; `names` are the calls as they are
    reported, None: those of the changes. `taken` are the undos that a redo reverts. `only` is the file, if
    only one file of a call is meant. `run` is the id of an earlier, unfinished undo of the same calls.
    """

    what: str
    redo: bool
    steps: Sequence[FileChange]
    force: bool = False
    by_user: bool = False
    names: Mapping[CallKey, str] | None = None
    taken: Sequence[RevertedCall] = ()
    notes: Sequence[str] = ()
    only: str | None = None
    run: str | None = None


@dataclass(slots=True)
class UndoSurvey:
    """The result of checking every file. `conflicts` are the first of `conflict_count` conflicts."""

    files: int = 0
    changing: list[str] = field(default_factory=list)
    conflicts: list[FileRevert] = field(default_factory=list)
    conflict_count: int = 0
    not_kept: list[FileChange] = field(default_factory=list)
    restorable: bool = False


class UndoRun:
    """One undo or redo: call `survey`, then `next_plan` until `rest` is 0."""

    def __init__(
        self, goal: UndoGoal, files: Files, blobs: Blobs | None, images: RecordedImages
    ) -> None:
        self.goal = goal
        self._files = files
        self._blobs = blobs
        self._images = images
        self._steps = _by_path(goal.steps)
        goal.steps = ()
        self._links = LinkGroups(self._steps)
        # The files that are still to be changed, the next one last; and how many there were.
        self._queue: list[str] = []
        self._total = 0
        # The reverts of the first part, from the survey.
        self._ready: dict[str, FileRevert] = {}
        # The files of the current part, and the call that carries it out.
        self._part: list[str] = []
        self._part_call: str | None = None
        self._most = files_per_part()
        self._most_bytes = PART_BYTES if goal.by_user else MODEL_PART_BYTES
        self._id = goal.run or os.urandom(8).hex()
        self._first_call: str | None = None
        # Files that need no change; they are recorded as undone with the first part.
        self._unchanging: set[str] = set()
        self._left: set[tuple[CallKey, str]] = set()
        self._notes: list[str] = list(goal.notes)

    @property
    def rest(self) -> int:
        """The number of files after the part that was planned last."""
        return len(self._queue) - len(self._part)

    async def survey(self) -> UndoSurvey:
        """Check every file, without changing anything."""
        return await to_thread.run_sync(self._survey, abandon_on_cancel=True)

    async def next_plan(self, call_id: str) -> Plan:
        """The plan of the next part; a call that already has a part gets the same part again."""
        if self._part_call != call_id:
            if self._part:
                del self._queue[-len(self._part) :]
            for path in self._part:
                # Frees the memory of finished files.
                self._steps.pop(path, None)
            self._part, self._part_call = [], call_id
        first = self._first_call in (None, call_id)
        if first:
            self._first_call = call_id
        reverts = await to_thread.run_sync(self._next_reverts, abandon_on_cancel=True)
        targets = [revert.target for revert in reverts if revert.target is not None]
        whole = await self._images.complete(targets)
        work = partial(self._changes, reverts, whole)
        changes = await to_thread.run_sync(work, abandon_on_cancel=True)
        return self._plan(changes, reverts, first=first)

    def _survey(self) -> UndoSurvey:
        found = UndoSurvey(files=len(self._steps))
        held = 0
        for path in sorted_paths(self._steps):
            revert = self._plan_revert(path)
            if revert.conflict:
                found.conflict_count += 1
                if len(found.conflicts) < _CONFLICTS_KEPT:
                    found.conflicts.append(revert)
                continue
            found.not_kept += revert.kept_back
            found.restorable = found.restorable or bool(revert.steps)
            if revert.changes_nothing:
                continue
            found.changing.append(path)
            held += 0 if revert.now.content is None else revert.now.content.size
            if len(self._ready) < self._most and held <= self._most_bytes:
                self._ready[path] = revert
        self._begin(found)
        return found

    def _begin(self, found: UndoSurvey) -> None:
        self._queue = found.changing[::-1]
        self._total = len(found.changing)
        self._unchanging = set(self._steps).difference(found.changing)
        self._left = {(step.key, step.path) for step in found.not_kept}
        # A file that an undo did not have to change has no change in the record.
        self._unchanging.update(
            path for one in self.goal.taken for path in one.paths if path not in self._steps
        )
        self._notes += [
            f"{step.name} cannot be undone in {shown(step.path)}: its old content was not kept"
            for step in found.not_kept
        ]

    def _plan_revert(self, path: str) -> FileRevert:
        steps = self._steps[path]
        return plan_file_revert(
            path, steps, read_current_file(path, self._files), force=self.goal.force
        )

    def _next_reverts(self) -> list[FileRevert]:
        """The reverts of the next files, limited by the size of their current contents."""
        found: list[FileRevert] = []
        held = 0
        again = self._part
        for path in again or reversed(self._queue[-self._most :]):
            revert = self._ready.pop(path, None) or self._plan_revert(path)
            held += 0 if revert.now.content is None else revert.now.content.size
            if found and held > self._most_bytes and not again:
                break
            found.append(revert)
        return found

    def _changes(
        self, reverts: list[FileRevert], whole: Mapping[str, Mapping[str, Any]]
    ) -> list[Change]:
        """The changes of the next part, limited by their size; stores its files in `_part`."""
        again = bool(self._part)
        changes: list[Change] = []
        held = 0
        for revert in reverts:
            change = self._change(revert, whole)
            if change is not None:
                held += sum(one.size for one in (change.before, change.after) if one is not None)
                if changes and held > self._most_bytes and not again:
                    break
                changes.append(change)
            if not again:
                self._part.append(revert.path)
        return add_permission_grants(changes, self._files)

    def _change(self, revert: FileRevert, whole: Mapping[str, Mapping[str, Any]]) -> Change | None:
        """The change of a file; None if no change is needed, or its old content is lost and `force` allows
        leaving it out.
        """
        if revert.conflict:
            raise words.conflict_error(
                self.goal.what,
                _verb(self.goal),
                [revert],
                {},
                person=self.goal.by_user,
                others=True,
            )
        if revert.changes_nothing:
            return None
        try:
            return self._linked(
                make_change(revert, self._blobs, whole[revert.path]), whole[revert.path]
            )
        except LostImage as lost:
            if not self.goal.force:
                raise
            self._notes.append(lost.problem.message)
            return None

    def _linked(self, change: Change, described: Mapping[str, Any]) -> Change:
        """The change, with candidates for a hard link if the file had other names."""
        if "link_group" not in described or change.before is not None:
            return change
        links = self._links.plan(change.path, described, self._files)
        if links.note is not None:
            self._notes.append(links.note)
        return replace(change, same_file=links.places)

    def _plan(
        self, planned: Sequence[Change], reverts: Sequence[FileRevert], *, first: bool
    ) -> Plan:
        goal, paths = self.goal, set(self._part)
        taken = self._taken(paths, first=first)
        changes = [one for one in planned if not one.only_opens]
        data = {
            **self._calls(taken),
            "paths": [one.path for one in changes],
            "forced": [revert.path for revert in reverts if revert.forced and revert.path in paths],
            "by": "person" if goal.by_user else "model",
            "calls": words.describe_reverted(taken),
            **self._progress(),
        }
        return Plan(
            tuple(planned),
            "\n".join([*self._lines(taken, changes), *words.change_lines(changes, reverts)]),
            preview=words.preview_changes(changes),
            data=data,
            relies_on="nothing",
        )

    def _taken(self, paths: set[str], *, first: bool) -> list[RevertedCall]:
        """The calls that this part reverts, with their files, newest call first."""
        if not first:
            return _group([step for path in self._part for step in self._steps[path]], self._left)
        paths = paths | self._unchanging
        if self.goal.taken:
            return [part for one in self.goal.taken if (part := _within(one, paths)) is not None]
        found = [self._steps[path] for path in self._steps if path in paths]
        return _group([step for steps in found for step in steps], self._left)

    def _calls(self, taken: Sequence[RevertedCall]) -> dict[str, Any]:
        if self.goal.names is not None:
            return {"redo": True, "redid": [key.call_id for key in self.goal.names]}
        ids = [one.key.call_id for one in taken]
        return {"redo": False, "undid": ids, "passed_over": list(self._notes)}

    def _lines(self, taken: Sequence[RevertedCall], changes: Sequence[Change]) -> list[str]:
        goal = self.goal
        if goal.names is not None:
            said = words.summarize_undo("redid", list(goal.names.values()), "undone together", ())
        else:
            of = f" in {shown(goal.only)}, and nowhere else" if goal.only is not None else ""
            names = [f"{name_call(one.tool, one.key.call_id)}{of}" for one in taken]
            said = words.summarize_undo("undid", names, goal.what, self._notes)
        found = ["; ".join([said, *words.count_changes(changes)])]
        if self.rest:
            done = self._total - self.rest
            found.append(
                words.describe_progress(done, self._total, redo=goal.redo, user=goal.by_user)
            )
        return found

    def _progress(self) -> dict[str, Any]:
        """The progress for the record; empty if the undo has only one part."""
        first = self.goal.run is None and self._first_call == self._part_call
        if first and not self.rest:
            return {}
        return {
            "run": self._id,
            "first": first,
            "done": self._total - self.rest,
            "total": self._total,
            "rest": self.rest,
        }


def _by_path(steps: Iterable[FileChange]) -> dict[str, tuple[FileChange, ...]]:
    found: dict[str, tuple[FileChange, ...]] = {}
    for step in steps:
        found[step.path] = (*found.get(step.path, ()), step)
    return found


def files_per_part() -> int:
    """How many files one part may have, limited by the open files that this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return PART_FILES
    return max(16, min(PART_FILES, (soft - _HANDLES_LEFT) // _HANDLES_EACH))


def sorted_paths(steps: Mapping[str, Sequence[FileChange]]) -> list[str]:
    """The paths in the order in which they are reverted: folders that are restored come before their
    content, folders that are removed after it, and the other paths keep their order.
    """
    made, others, removed = list[str](), list[str](), list[str]()
    for path, found in steps.items():
        oldest = found[-1].described
        if not is_of_folder(oldest):
            others.append(path)
        elif oldest.get("before_hash") is None or oldest.get("before_form") != Form.FOLDER:
            removed.append(path)
        else:
            made.append(path)
    return [*sorted(made), *others, *sorted(removed, reverse=True)]


def _group(steps: Iterable[FileChange], left: set[tuple[CallKey, str]]) -> list[RevertedCall]:
    found: dict[CallKey, tuple[str, int, list[str]]] = {}
    for step in steps:
        if (step.key, step.path) not in left:
            found.setdefault(step.key, (step.tool, step.row, []))[2].append(step.path)
    newest_first = sorted(found.items(), key=lambda one: one[1][1], reverse=True)
    return [RevertedCall(key, tool, tuple(paths)) for key, (tool, _, paths) in newest_first]


def _within(taken: RevertedCall, paths: set[str]) -> RevertedCall | None:
    found = tuple(path for path in taken.paths if path in paths)
    return taken._replace(paths=found) if found else None


def _verb(goal: UndoGoal) -> str:
    return "redone" if goal.redo else "undone"
