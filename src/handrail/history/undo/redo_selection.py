"""Selects the undo that a redo reverts, and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from handrail.core.ports.records import Trace
from handrail.core.ports.undo import UndoRequest
from handrail.core.problems import ProblemRaised
from handrail.history.undo.call_lookup import CallLookup, TraceState
from handrail.history.undo.recorded_changes import (
    CallKey,
    FileChange,
    RevertedCall,
    call_key,
    call_label,
    is_redo,
    is_undo,
    name_call,
    requested_by_user,
    reverted_calls,
    undo_part,
)
from handrail.history.workspace_match import WorkspaceMatch


@dataclass(slots=True)
class RedoSelection:
    """The changes of undos to revert, newest first; `undos` are the undos with their files, `calls` the
    calls that are redone, with their names.
    """

    steps: list[FileChange] = field(default_factory=list)
    undos: list[RevertedCall] = field(default_factory=list)
    calls: dict[CallKey, str] = field(default_factory=dict)

    def add(self, seen: TraceState, paths: set[str]) -> None:
        """Select these files of an undo."""
        self.steps += [step for step in seen.steps if step.path in paths]
        self.undos.append(RevertedCall(call_key(seen.trace), "undo", tuple(sorted(paths))))
        for taken in reverted_calls(seen.trace):
            if paths & set(taken.paths):
                self.calls[taken.key] = name_call(taken.tool, taken.key.call_id)


class RedoSelector:
    """Selects what is redone. A model cannot redo what the user undid."""

    def __init__(self, lookup: CallLookup) -> None:
        self._lookup = lookup

    async def choose(self, wanted: UndoRequest, paths: Sequence[str]) -> RedoSelection:
        """The selection; raises `not_found`, `ambiguous`. `paths` are the spellings of the target, if the
        scope is a path.
        """
        match wanted.scope:
            case "path":
                return await self._first(lambda taken, one: one in paths, f" of {paths[-1]!r}")
            case "call" if wanted.target == "last":
                return await self._first(lambda taken, one: True, "")
            case "call":
                trace = await self._lookup.call(wanted.target)
                if is_undo(trace):
                    return await self._undo(undo_part(trace).run, f" of {call_label(trace)}")
                return await self._all({call_key(trace)}, trace.row, f" of call {trace.call_id!r}")
            case "turn":
                trace = await self._lookup.turn(wanted.target)
                keys = {call_key(one): one.row for one in await self._lookup.turn_of(trace)}
                return await self._all(set(keys), min(keys.values()), f" of turn {trace.turn}")
            case _:
                raise ProblemRaised(
                    "invalid_arguments",
                    "redo takes a call, a turn or a path",
                    hint="without a target the last undo is redone",
                    field="scope",
                )

    async def _first(self, meant: Callable[[RevertedCall, str], bool], what: str) -> RedoSelection:
        """The newest undo with files for which `meant` is true; all its parts, if it has several."""
        redone, run = RedoSelection(), ""
        async for seen in self._lookup.scan():
            if run and not _is_part(seen.trace, run):
                continue
            paths = {path for taken, path in self._open(seen) if meant(taken, path)}
            if paths:
                redone.add(seen, paths)
                run = run or undo_part(seen.trace).run
            if run and undo_part(seen.trace).first:
                break
        if not redone.undos:
            raise _nothing(what)
        return redone

    async def _undo(self, run: str, what: str) -> RedoSelection:
        redone = RedoSelection()
        async for seen in self._lookup.scan():
            if not _is_part(seen.trace, run):
                continue
            if paths := {path for _, path in self._open(seen)}:
                redone.add(seen, paths)
            if undo_part(seen.trace).first:
                break
        if not redone.undos:
            raise _nothing(what)
        return redone

    async def _all(self, keys: set[CallKey], down_to: int, what: str) -> RedoSelection:
        redone = RedoSelection()
        met: set[tuple[CallKey, str]] = set()
        async for seen in self._lookup.scan():
            if seen.trace.row < down_to:
                break
            units = {
                (taken.key, path)
                for taken, path in self._open(seen)
                if taken.key in keys and (taken.key, path) not in met
            }
            if units:
                redone.add(seen, {path for _, path in units})
                met |= units
        if not redone.undos:
            raise _nothing(what)
        return redone

    def _open(self, seen: TraceState) -> Iterator[tuple[RevertedCall, str]]:
        """Yield what the call reverted and was not redone since, if it is an undo that the requester may
        redo.
        """
        trace, lookup = seen.trace, self._lookup
        if not is_undo(trace) or is_redo(trace) or not lookup.reaches(trace):
            return
        if lookup.where(trace) is not WorkspaceMatch.HERE or (
            requested_by_user(trace) and not lookup.asker.is_user
        ):
            return
        for taken in reverted_calls(trace):
            for path in taken.paths:
                if seen.standing.stands(call_key(trace), path):
                    yield taken, path


def _is_part(trace: Trace, run: str) -> bool:
    """Whether the call carried out a part of the undo with this id."""
    return is_undo(trace) and not is_redo(trace) and undo_part(trace).run == run


def _nothing(what: str) -> ProblemRaised:
    return ProblemRaised("not_found", f"nothing{what} is undone now, so there is nothing to redo")
