"""Reads from traces which files calls changed, and which of these changes were undone.

Traces are visited from the newest to the oldest, so that an undo comes before the calls that it
reverted and one pass is sufficient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from handrail.core.call import call_owner
from handrail.core.names.caches import is_cache
from handrail.core.names.caller_words import tool_name
from handrail.core.places import shown
from handrail.core.ports.records import Store, Trace
from handrail.core.ports.undo import UndoableChange
from handrail.core.text.listing import first_few
from handrail.history.before_images import is_permission_grant

TOOL: Final = "undo"
# Tools that run something, but change no files.
_HARMLESS: Final = frozenset({"job_kill", "lock_paths", "unlock_paths"})
_LISTED: Final = 8
_PAGE: Final = 200


class CallKey(NamedTuple):
    """Identifies a call: ids are unique only in their session."""

    session: str
    call_id: str


class FileChange(NamedTuple):
    """One change of one file by one call. `described` is the change without its old content, which is in
    the payload of `row` at the keys `where`.
    """

    key: CallKey
    tool: str
    turn: int
    described: Mapping[str, Any]
    row: int
    where: tuple[str | int, ...]
    attributed: bool = True

    @property
    def path(self) -> str:
        """The path as it is shown."""
        return str(self.described["path"])

    @property
    def name(self) -> str:
        """The name of the call in messages."""
        return name_call(self.tool, self.key.call_id)


class RevertedCall(NamedTuple):
    """The files of one call that an undo reverted or a redo restored."""

    key: CallKey
    tool: str
    paths: tuple[str, ...]


def call_key(trace: Trace) -> CallKey:
    """The key of the call."""
    return CallKey(trace.session, trace.call_id)


def called_tool(trace: Trace) -> str:
    """The tool that was called, by its canonical name."""
    return str(trace.intent.get("tool") or (trace.completed or {}).get("tool") or "?")


def call_label(trace: Trace) -> str:
    """The name of the call in messages."""
    return name_call(called_tool(trace), trace.call_id)


def name_call(tool: str, call_id: str) -> str:
    """The name of a call in messages: the caller's name of its tool, and its id."""
    return f"{tool_name(tool)} ({call_id})"


def turn_key(trace: Trace) -> tuple[str, str, int]:
    """Identifies a turn; turns of other sessions and processes may have the same number."""
    intent = trace.intent
    run = trace.call_id if is_job(trace) else intent.get("run") or intent.get("owner")
    return trace.session, str(run), trace.turn


def file_changes(trace: Trace) -> list[FileChange]:
    """The known changes of a call; empty if it has not ended or changed nothing."""
    done = trace.completed
    if done is None:
        return []
    if not trace.intent.get("runs"):
        if not done.get("changes"):
            return []
        planned = _steps(trace, trace.row, trace.intent.get("changes"), ("changes",))
        return _with_hooks(list(planned), done.get("effects"))
    effects = done.get("effects")
    if not isinstance(effects, Mapping) or trace.completed_row is None:
        return []
    found = list(_steps(trace, trace.completed_row, effects.get("changes"), ("effects", "changes")))
    beside = _steps(
        trace, trace.completed_row, effects.get("unattributed"), ("effects", "unattributed")
    )
    return [*found, *(step._replace(attributed=False) for step in beside)]


def _with_hooks(steps: list[FileChange], effects: Any) -> list[FileChange]:
    """The changes with the states that hooks gave the files after the call."""
    hooks = effects.get("hooks") if isinstance(effects, Mapping) else None
    if not hooks:
        return steps
    became = {
        one["path"]: {"after_hash": one["after_hash"], "after_mode": one["after_mode"]}
        for one in hooks
    }
    return [
        step._replace(described={**step.described, **became.get(step.path, {})}) for step in steps
    ]


def reverted_calls(trace: Trace) -> list[RevertedCall]:
    """The calls that an undo reverted or a redo restored; empty if the call is neither, or failed."""
    data = trace.intent.get("data")
    if called_tool(trace) != TOOL or not isinstance(data, Mapping) or "calls" not in data:
        return []
    if trace.completed is None or not trace.completed.get("changes"):
        return []
    return [
        RevertedCall(CallKey(one["session"], one["call_id"]), str(one["tool"]), tuple(one["paths"]))
        for one in data["calls"]
    ]


def is_undo(trace: Trace) -> bool:
    """Whether the call is an undo or a redo."""
    return called_tool(trace) == TOOL


def is_redo(trace: Trace) -> bool:
    """Whether the call is a redo."""
    data = trace.intent.get("data")
    return is_undo(trace) and isinstance(data, Mapping) and bool(data.get("redo"))


class UndoPart(NamedTuple):
    """One part of an undo. An undo of many files is split into parts, each a call of its own with the
    same `run`. `first`: this part began the undo, in any session; `rest` is the number of files that were
    left after this part.
    """

    run: str
    first: bool = True
    rest: int = 0


def undo_part(trace: Trace) -> UndoPart:
    """The part of an undo that the call carried out; most undos have only one."""
    data = trace.intent.get("data")
    if not isinstance(data, Mapping) or "run" not in data:
        return UndoPart(f"{trace.session}:{trace.call_id}")
    return UndoPart(str(data["run"]), bool(data.get("first")), int(data.get("rest", 0)))


def is_job(trace: Trace) -> bool:
    """Whether the trace records the changes of a background job, which belong to no turn."""
    return trace.intent.get("runs") == "job"


def calls_named(trace: Trace) -> tuple[str, ...]:
    """The ids of the calls that an undo reverted or a redo restored."""
    data = trace.intent.get("data")
    if not is_undo(trace) or not isinstance(data, Mapping):
        return ()
    return tuple(map(str, data.get("redid" if is_redo(trace) else "undid", ())))


def may_have_changed(trace: Trace) -> bool:
    """Whether the call changed something, or has not ended and may have."""
    return (
        trace.completed is None or bool(file_changes(trace)) or why_not_undoable(trace) is not None
    )


def requested_by_user(trace: Trace) -> bool:
    """Whether the user requested the undo."""
    data = trace.intent.get("data")
    return isinstance(data, Mapping) and data.get("by") == "person"


def why_not_undoable(trace: Trace) -> str | None:
    """Why the call cannot be undone; None if it can, or changed no files."""
    if not trace.intent.get("runs") or called_tool(trace) in _HARMLESS:
        return None
    judged = trace.intent.get("effects")
    if isinstance(judged, Mapping) and not (judged.get("writes") or judged.get("open_ended")):
        return None
    effects = (trace.completed or {}).get("effects")
    if not isinstance(effects, Mapping):
        return "what it changed is not on record"
    if effects.get("undo") != "none":
        return None
    left = _left_out(effects)
    return f"not kept: {left}" if left else "what it changed was not kept"


def undo_limits(trace: Trace, standing: Sequence[FileChange]) -> list[str]:
    """Notes about the changes of a call that cannot be undone, or are not undone with the call."""
    name, why = call_label(trace), why_not_undoable(trace)
    if why is not None:
        return [f"{name} cannot be undone: {why}"]
    found = []
    effects = (trace.completed or {}).get("effects")
    left = effects.get("left_out") if isinstance(effects, Mapping) else None
    if isinstance(left, Mapping) and (unseen := left.get(trace.call_id)):
        # A job whose end was not observed lists its own id among what is left out.
        found.append(f"{name} is known only in part: {unseen}")
    missing = _left_out(effects, but=trace.call_id) if isinstance(effects, Mapping) else ""
    if missing:
        found.append(f"{name} can be undone only in part, without {missing}")
    if beside := {
        step.path: step.described.get("doubt") for step in standing if not step.attributed
    }:
        found.append(f"not known to be the doing of {name}, and left: {_some(beside, len(beside))}")
    return found


class UndoState:
    """Which changes are not undone. `meet` is called with the traces from the newest to the oldest."""

    def __init__(self) -> None:
        self._undone: dict[CallKey, set[str]] = {}
        self._ids: dict[str, list[CallKey]] = {}
        # The last undo of each call.
        self._parts: dict[CallKey, UndoPart] = {}

    def meet(self, trace: Trace) -> list[FileChange]:
        """Visit a trace; returns its changes that are not undone."""
        key = call_key(trace)
        gone = self._undone.get(key, ())
        for taken in reverted_calls(trace):
            # Where an undo was itself undone, it no longer reverts anything.
            paths = taken.paths if not gone else [one for one in taken.paths if one not in gone]
            if taken.key not in self._undone:
                self._undone[taken.key] = set()
                self._ids.setdefault(taken.key.call_id, []).append(taken.key)
            self._undone[taken.key].update(paths)
            self._parts.setdefault(taken.key, undo_part(trace))
        return [step for step in file_changes(trace) if self.stands(key, step.path)]

    def stands(self, key: CallKey, path: str) -> bool:
        """Whether the change of the path by the call was not undone since."""
        return path not in self._undone.get(key, ())

    def unfinished_run(self, key: CallKey) -> str | None:
        """The id of an unfinished undo in parts that reverts the call; None if there is none."""
        part = self._parts.get(key)
        return part.run if part is not None and part.rest else None

    def holds(self, trace: Trace, path: str) -> bool:
        """Like `stands`, as users see it: the change of a redo also counts as undone if the calls that it
        restored were undone later, although such an undo does not name the redo.
        """
        if not self.stands(call_key(trace), path):
            return False
        if not is_redo(trace):
            return True
        # The record of a redo names the calls without their sessions.
        named = [key for call in calls_named(trace) for key in self._ids.get(call, ())]
        return all(self.stands(key, path) for key in named)


def list_changes(
    traces: Iterable[Trace], *, session: str | None = None, paths: Sequence[str] | None = None
) -> Iterator[UndoableChange]:
    """Yield every change of every file, newest first."""
    standing = UndoState()
    for trace in traces:
        standing.meet(trace)
        if session is not None and trace.session != session:
            continue
        for step in file_changes(trace):
            if paths is None or step.path in paths:
                yield _past_change(trace, step, standing=standing.holds(trace, step.path))


def count_changed_files(traces: Iterable[Trace], conversations: Collection[str]) -> Counter[str]:
    """For each conversation, and the session of the same name: how many files have changes that are not
    undone, without files in caches. `traces` are newest first.
    """
    standing, found = UndoState(), set[tuple[str, str]]()
    owners = {call_owner(one): one for one in conversations}
    for trace in traces:
        steps = [one for one in standing.meet(trace) if one.attributed and not is_cache(one.path)]
        if not steps or is_undo(trace):
            continue
        # The names of the conversations of subagents contain dots.
        parts = trace.call_id.split(".")
        made = {".".join(parts[:end]) for end in range(1, len(parts))}
        names = {owners[one] for one in made & owners.keys()}
        if trace.session in conversations:
            names.add(trace.session)
        found |= {(name, one.path) for name in names for one in steps}
    return Counter(name for name, _ in found)


def _past_change(trace: Trace, step: FileChange, *, standing: bool) -> UndoableChange:
    return UndoableChange(
        step.path,
        str(step.described.get("operation", "?")),
        trace.session,
        trace.turn,
        trace.call_id,
        "redo" if is_redo(trace) else step.tool,
        trace.at_ns,
        standing,
        step.attributed,
        step.described.get("before_hash"),
        step.described.get("after_hash"),
        calls_named(trace),
    )


def _steps(trace: Trace, row: int, described: Any, where: tuple[str, ...]) -> Iterator[FileChange]:
    for number, one in enumerate(described if isinstance(described, list) else ()):
        if isinstance(one, Mapping) and "path" in one and not is_permission_grant(one):
            yield FileChange(
                call_key(trace), called_tool(trace), trace.turn, one, row, (*where, number)
            )


def _left_out(effects: Mapping[str, Any], *, but: str | None = None) -> str:
    left = dict(effects.get("left_out") or {})
    count = int(effects.get("left_out_count", len(left)))
    if left.pop(but, None) is not None:
        count -= 1
    return _some(left, count)


def _some(reasons: Mapping[str, str | None], count: int) -> str:
    """Format the first few paths with their reason."""
    named = (
        f"{shown(path)} ({why})" if why else shown(path)
        for path, why in islice(reasons.items(), _LISTED)
    )
    return first_few(named, _LISTED, count)


async def find_undone_paths(store: Store, session: str, call_id: str) -> list[str]:
    """The files of a call whose changes were undone; reads the record only back to the call."""
    wanted, standing, before = CallKey(session, call_id), UndoState(), None
    while page := await store.traces(before=before, limit=_PAGE):
        for trace in page:
            standing.meet(trace)
            if call_key(trace) == wanted:
                paths = [step.path for step in file_changes(trace)]
                return [path for path in paths if not standing.stands(wanted, path)]
        before = page[-1].row
    return []
