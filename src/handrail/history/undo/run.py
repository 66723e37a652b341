"""An undo or a redo of any number of files, carried out in parts.

Every file is looked at before the first part, so that a conflict is reported while nothing has
been touched. Each part is one plan, announced and committed on its own: what a crash or a
failure leaves is a number of finished parts, and the next undo goes on with the files that
are still to be restored. Memory and open files are bounded by the size of a part.
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

# Of one part; contents are held in memory. A user's undo goes on with the next part by itself;
# a model has to call again, so that its parts are larger.
PART_FILES: Final = 1000
PART_BYTES: Final = 8 << 20
MODEL_PART_BYTES: Final = 256 << 20
# Each file takes its directory, its new content and a lock; others need handles as well.
_HANDLES_EACH: Final = 3
_HANDLES_LEFT: Final = 256
# Conflicts that are kept to be reported; the others are only counted.
_CONFLICTS_KEPT: Final = 50


@dataclass(slots=True)
class UndoGoal:
    """What is to be undone or redone. `steps` come newest first; `names` are the calls as they
    are reported, None: those of the steps. `taken` are the undos that a redo takes back. `only` is the one
    file of a call that is meant. `run` is the id of an earlier, unfinished undo of the same calls.
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
    """What looking at every file found. `conflicts` are the first of `conflict_count`."""

    files: int = 0
    changing: list[str] = field(default_factory=list)
    conflicts: list[FileRevert] = field(default_factory=list)
    conflict_count: int = 0
    not_kept: list[FileChange] = field(default_factory=list)
    restorable: bool = False


class UndoRun:
    """One undo or redo. `survey` first; then `next_plan` until `rest` is 0."""

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
        # Files still to be changed, the next one last; and how many there were.
        self._queue: list[str] = []
        self._total = 0
        # The ways that the survey found for the first part.
        self._ready: dict[str, FileRevert] = {}
        # The files of the part that is being carried out, and the call that does it.
        self._part: list[str] = []
        self._part_call: str | None = None
        self._most = files_per_part()
        self._most_bytes = PART_BYTES if goal.by_user else MODEL_PART_BYTES
        self._id = goal.run or os.urandom(8).hex()
        self._first_call: str | None = None
        # Files that are as before already: undone together with the first part.
        self._unchanging: set[str] = set()
        self._left: set[tuple[CallKey, str]] = set()
        self._notes: list[str] = list(goal.notes)

    @property
    def rest(self) -> int:
        """How many files follow after the part that was planned last."""
        return len(self._queue) - len(self._part)

    async def survey(self) -> UndoSurvey:
        """Look at every file. Changes nothing."""
        return await to_thread.run_sync(self._survey, abandon_on_cancel=True)

    async def next_plan(self, call_id: str) -> Plan:
        """The plan of the next part; the same part again for the call that was given it."""
        if self._part_call != call_id:
            if self._part:
                del self._queue[-len(self._part) :]
            for path in self._part:
                # What is done needs no memory while the rest goes on.
                self._steps.pop(path, None)
            self._part, self._part_call = [], call_id
        first = self._first_call in (None, call_id)
        if first:
            self._first_call = call_id
        ways = await to_thread.run_sync(self._next_ways, abandon_on_cancel=True)
        targets = [way.target for way in ways if way.target is not None]
        whole = await self._images.complete(targets)
        work = partial(self._changes, ways, whole)
        changes = await to_thread.run_sync(work, abandon_on_cancel=True)
        return self._plan(changes, ways, first=first)

    def _survey(self) -> UndoSurvey:
        found = UndoSurvey(files=len(self._steps))
        held = 0
        for path in sorted_paths(self._steps):
            way = self._way(path)
            if way.conflict:
                found.conflict_count += 1
                if len(found.conflicts) < _CONFLICTS_KEPT:
                    found.conflicts.append(way)
                continue
            found.not_kept += way.kept_back
            found.restorable = found.restorable or bool(way.steps)
            if way.changes_nothing:
                continue
            found.changing.append(path)
            held += 0 if way.now.content is None else way.now.content.size
            if len(self._ready) < self._most and held <= self._most_bytes:
                self._ready[path] = way
        self._begin(found)
        return found

    def _begin(self, found: UndoSurvey) -> None:
        self._queue = found.changing[::-1]
        self._total = len(found.changing)
        self._unchanging = set(self._steps).difference(found.changing)
        self._left = {(step.key, step.path) for step in found.not_kept}
        # What an undo found as it was has no step of its own.
        self._unchanging.update(
            path for one in self.goal.taken for path in one.paths if path not in self._steps
        )
        self._notes += [
            f"{step.name} cannot be undone in {shown(step.path)}: its old content was not kept"
            for step in found.not_kept
        ]

    def _way(self, path: str) -> FileRevert:
        steps = self._steps[path]
        return plan_file_revert(
            path, steps, read_current_file(path, self._files), force=self.goal.force
        )

    def _next_ways(self) -> list[FileRevert]:
        """The ways of the next files, as far as one part may hold what they are now."""
        found: list[FileRevert] = []
        held = 0
        again = self._part
        for path in again or reversed(self._queue[-self._most :]):
            way = self._ready.pop(path, None) or self._way(path)
            held += 0 if way.now.content is None else way.now.content.size
            if found and held > self._most_bytes and not again:
                break
            found.append(way)
        return found

    def _changes(
        self, ways: list[FileRevert], whole: Mapping[str, Mapping[str, Any]]
    ) -> list[Change]:
        """The changes of the next part, as many as it may hold; says in `_part` which."""
        again = bool(self._part)
        changes: list[Change] = []
        held = 0
        for way in ways:
            change = self._change(way, whole)
            if change is not None:
                held += sum(one.size for one in (change.before, change.after) if one is not None)
                if changes and held > self._most_bytes and not again:
                    break
                changes.append(change)
            if not again:
                self._part.append(way.path)
        return add_permission_grants(changes, self._files)

    def _change(self, way: FileRevert, whole: Mapping[str, Mapping[str, Any]]) -> Change | None:
        """The change; None if none is needed, or its old content is lost and may be left out."""
        if way.conflict:
            raise words.conflict_error(
                self.goal.what, _verb(self.goal), [way], {}, person=self.goal.by_user, others=True
            )
        if way.changes_nothing:
            return None
        try:
            return self._linked(make_change(way, self._blobs, whole[way.path]), whole[way.path])
        except LostImage as lost:
            if not self.goal.force:
                raise
            self._notes.append(lost.problem.message)
            return None

    def _linked(self, change: Change, described: Mapping[str, Any]) -> Change:
        """The change of a file that had other names, to be one of them again."""
        if "link_group" not in described or change.before is not None:
            return change
        links = self._links.plan(change.path, described, self._files)
        if links.note is not None:
            self._notes.append(links.note)
        return replace(change, same_file=links.places)

    def _plan(self, planned: Sequence[Change], ways: Sequence[FileRevert], *, first: bool) -> Plan:
        goal, paths = self.goal, set(self._part)
        taken = self._taken(paths, first=first)
        changes = [one for one in planned if not one.only_opens]
        data = {
            **self._calls(taken),
            "paths": [one.path for one in changes],
            "forced": [way.path for way in ways if way.forced and way.path in paths],
            "by": "person" if goal.by_user else "model",
            "calls": words.describe_reverted(taken),
            **self._progress(),
        }
        return Plan(
            tuple(planned),
            "\n".join([*self._lines(taken, changes), *words.change_lines(changes, ways)]),
            preview=words.preview_changes(changes),
            data=data,
            relies_on="nothing",
        )

    def _taken(self, paths: set[str], *, first: bool) -> list[RevertedCall]:
        """Which files of which calls this part undoes, the newest call first."""
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
        """How far the run is, where it has several parts; `run` is what its parts share."""
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
    """How many files one part may have, by how many handles this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return PART_FILES
    return max(16, min(PART_FILES, (soft - _HANDLES_LEFT) // _HANDLES_EACH))


def sorted_paths(steps: Mapping[str, Sequence[FileChange]]) -> list[str]:
    """The paths in the order in which parts take them: folders that stand at the end before
    what is in them, folders that go after it, the rest as given.
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
