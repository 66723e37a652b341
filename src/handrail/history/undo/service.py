"""Undo and redo: plans that are made from the record and committed like any other plan.

Only recorded contents are restored, and only if the file is still as the call left it, unless the user
asks to overwrite it. An undo is recorded like any call, and a redo is the undo of an undo.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from handrail.core.plan import Plan
from handrail.core.ports.machine import Blobs, Clock, Files
from handrail.core.ports.records import Store, Trace
from handrail.core.ports.undo import ALONE, Requester, UndoableChange, UndoCall, UndoRequest
from handrail.core.problems import ProblemRaised
from handrail.history.undo import messages as words
from handrail.history.undo.call_lookup import CallLookup
from handrail.history.undo.file_revert import Conflict, FileRevert, path_spellings
from handrail.history.undo.recorded_changes import (
    CallKey,
    FileChange,
    call_key,
    call_label,
    is_redo,
    is_undo,
    list_changes,
    reverted_calls,
)
from handrail.history.undo.recorded_contents import RecordedImages
from handrail.history.undo.redo_selection import RedoSelector
from handrail.history.undo.run import UndoGoal, UndoRun, UndoSurvey
from handrail.history.undo.selection import Newest, Selection, UndoSelector
from handrail.history.workspace_match import workspace_folders

_RUNS_HELD: Final = 4


@dataclass(eq=False)
class LocalUndo:
    """Implements `UndoService` on the record of one store. `settle` is called before every lookup and
    records pending changes, such as those of a job that has ended.
    """

    store: Store
    files: Files
    blobs: Blobs | None
    clock: Clock
    settle: Callable[[], Awaitable[None]] | None = None
    # The unfinished undos of a user in parts, by the id of the call of the first part.
    _runs: dict[str, UndoRun] = field(default_factory=dict, init=False)

    async def undo_plan(
        self, wanted: UndoRequest, asker: Requester, turn: UndoCall = ALONE
    ) -> Plan:
        """The plan that undoes the requested changes; see `UndoService.undo_plan`."""
        if (begun := self._runs.get(turn.continues or "")) is not None:
            return await self._next(begun, turn)
        lookup = await self._lookup(asker)
        if wanted.scope == "call" and Newest.parse(wanted.target) is None:
            named = await lookup.call(wanted.target)
            if is_undo(named) and not is_redo(named):
                # The undo of an undo is a redo.
                return await self.redo_plan(wanted, asker, turn)
        passed: list[str] = []
        async for chosen in self._candidates(lookup, wanted):
            run = self._run(_undo_goal(chosen, passed, wanted, asker))
            survey = await run.survey()
            await self._check(lookup, chosen.what, "undone", survey)
            if survey.not_kept and (chosen.whole or not survey.restorable):
                raise _not_kept(survey.not_kept)
            if survey.changing:
                return await self._next(run, turn)
            # Somebody else has restored the files already: continue with the change before it.
            passed.append(f"{chosen.what} was as before already")
        raise _nothing_to_undo(wanted, passed, lookup.dropped())

    async def redo_plan(
        self, wanted: UndoRequest, asker: Requester, turn: UndoCall = ALONE
    ) -> Plan:
        """The plan that redoes the requested changes; see `UndoService.redo_plan`."""
        if (begun := self._runs.get(turn.continues or "")) is not None:
            return await self._next(begun, turn)
        lookup = await self._lookup(asker)
        paths = path_spellings(wanted.target, self.files) if wanted.scope == "path" else ()
        redone = await RedoSelector(lookup).choose(wanted, paths)
        what = ", ".join(islice(redone.calls.values(), 4))
        goal = UndoGoal(
            what,
            True,
            redone.steps,
            wanted.force,
            asker.is_user,
            redone.calls,
            redone.undos,
        )
        run = self._run(goal)
        survey = await run.survey()
        await self._check(lookup, what, "redone", survey)
        if survey.not_kept:
            raise _not_kept(survey.not_kept)
        if not survey.changing:
            raise ProblemRaised("already_applied", f"{what} is redone already")
        return await self._next(run, turn)

    async def changes(
        self, session: str, *, path: str | None = None, limit: int = 100
    ) -> Sequence[UndoableChange]:
        """The changes of a session, newest first; see `UndoService.changes`."""
        traces = await self.store.traces()
        paths = None if path is None else path_spellings(path, self.files)
        return list(islice(list_changes(traces, session=session, paths=paths), limit))

    async def _lookup(self, asker: Requester) -> CallLookup:
        if self.settle is not None:
            await self.settle()
        openings = await self.store.openings()
        folders = workspace_folders(openings, asker.session, self.files.roots[0])
        return CallLookup(self.store, folders, asker)

    def _candidates(self, lookup: CallLookup, wanted: UndoRequest) -> AsyncIterator[Selection]:
        chooser = UndoSelector(lookup, self.clock.now_ns())
        target = wanted.target
        newest = Newest.parse(target)
        match wanted.scope:
            case "call":
                return chooser.newest_calls(newest) if newest else _one(chooser.call(target))
            case "turn":
                return chooser.newest_turns(newest) if newest else _one(chooser.turn(target))
            case "path":
                return chooser.file(path_spellings(target, self.files))
            case "since":
                return _one(chooser.since(target))

    def _run(self, goal: UndoGoal) -> UndoRun:
        return UndoRun(goal, self.files, self.blobs, RecordedImages(self.store))

    async def _next(self, run: UndoRun, turn: UndoCall) -> Plan:
        """The plan of the next part; the run is stored for the call that continues it."""
        plan = await run.next_plan(turn.call_id)
        first = turn.continues or turn.call_id
        self._runs.pop(first, None)
        if run.rest and run.goal.by_user:
            self._runs[first] = run
            while len(self._runs) > _RUNS_HELD:
                self._runs.pop(next(iter(self._runs)))
        return plan

    async def _check(self, lookup: CallLookup, what: str, verb: str, survey: UndoSurvey) -> None:
        """Raise `conflict` if a file was changed since."""
        if not survey.conflicts:
            return
        blame = await find_conflict_origins(lookup, survey.conflicts)
        raise words.conflict_error(
            what,
            verb,
            survey.conflicts,
            blame,
            person=lookup.asker.is_user,
            others=survey.conflict_count < survey.files,
            count=survey.conflict_count,
        )


async def _one(finding: Any) -> AsyncIterator[Selection]:
    yield await finding


def _undo_goal(
    chosen: Selection, passed: Sequence[str], wanted: UndoRequest, asker: Requester
) -> UndoGoal:
    return UndoGoal(
        chosen.what,
        False,
        chosen.steps,
        wanted.force,
        asker.is_user,
        notes=[*passed, *chosen.notes],
        only=chosen.only,
        run=chosen.run,
    )


def _not_kept(missing: Sequence[FileChange]) -> ProblemRaised:
    one = missing[0]
    return ProblemRaised(
        "not_found", f"{one.name} cannot be undone: the old content of {one.path!r} was not kept"
    )


def _nothing_to_undo(
    wanted: UndoRequest, passed: Sequence[str], dropped: Sequence[str]
) -> ProblemRaised:
    if passed and Newest.parse(wanted.target) is None:
        return ProblemRaised("already_applied", "; ".join(passed))
    what = "nothing is on record" if dropped else "nothing has been changed"
    said = [f"{what} that could be undone", *passed, *dropped]
    return ProblemRaised("not_found", "; ".join(said))


async def find_conflict_origins(
    lookup: CallLookup, reverts: Sequence[FileRevert]
) -> dict[str, str]:
    """Path → the call that left the file in its conflicting state, for the conflicts that calls caused."""
    searches = {
        revert.path: _OriginSearch(revert.path, revert.conflict)
        for revert in reverts
        if revert.conflict
    }
    async for seen in lookup.scan():
        left = {
            (step.path, step.described.get("after_hash"))
            for step in seen.sure
            if step.path in searches
        }
        for one in searches.values():
            one.meet(seen.trace, left)
        if all(one.over for one in searches.values()):
            break
    return {path: one.name for path, one in searches.items() if one.name}


@dataclass(slots=True)
class _OriginSearch:
    """Searches the calls between the changes of a conflict, newest first, for the one that left the file in
    its conflicting state.

    `name` is the call found so far. If it is an undo, the file is as it was before the calls `until`, and
    the search continues below them.
    """

    path: str
    conflict: Conflict
    name: str = ""
    until: set[CallKey] = field(default_factory=set)
    inside: bool = False
    over: bool = False

    def __post_init__(self) -> None:
        self.inside = self.conflict.above is None

    def meet(self, trace: Trace, left: Set[tuple[str, str | None]]) -> None:
        """Visit a call; `left` are the paths and hashes of the files that it changed."""
        key = call_key(trace)
        if self.over or not self.inside:
            self.inside = self.inside or (
                self.conflict.above is not None and key == self.conflict.above.key
            )
        elif key == self.conflict.below.key:
            self.over = True
        elif self.until:
            self._rise(key)
        elif (self.path, self.conflict.digest) in left:
            self._blame(trace)

    def _rise(self, key: CallKey) -> None:
        self.until.discard(key)
        if not self.until:
            self.name = ""

    def _blame(self, trace: Trace) -> None:
        if not is_undo(trace):
            self.name, self.over = call_label(trace), True
            return
        self.name = f"{'redo' if is_redo(trace) else 'undo'} ({trace.call_id})"
        self.until = {one.key for one in reverted_calls(trace) if self.path in one.paths}
