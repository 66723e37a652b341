"""What calls changed, file by file, and which of it is taken back: read from their traces.

Traces are met from the newest to the oldest, so that an undo is always met before what it
took back; nothing here is ever looked at twice.
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
# Tools that run, but change nothing that lies in a folder.
_HARMLESS: Final = frozenset({"job_kill", "lock_paths", "unlock_paths"})
_LISTED: Final = 8
_PAGE: Final = 200


class CallKey(NamedTuple):
    """What a call is known by: an id belongs to its session."""

    session: str
    call_id: str


class FileChange(NamedTuple):
    """One file that one call changed. `described` is the change without its old content,
    which stands in the payload of `row` under the names in `where`.
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
        """The file, as it is shown."""
        return str(self.described["path"])

    @property
    def name(self) -> str:
        """The call, as it is told."""
        return name_call(self.tool, self.key.call_id)


class RevertedCall(NamedTuple):
    """Which files of which call an undo took back, or a redo brought back."""

    key: CallKey
    tool: str
    paths: tuple[str, ...]


def call_key(trace: Trace) -> CallKey:
    """What the call is known by."""
    return CallKey(trace.session, trace.call_id)


def called_tool(trace: Trace) -> str:
    """The tool that was called, by its canonical name."""
    return str(trace.intent.get("tool") or (trace.completed or {}).get("tool") or "?")


def call_label(trace: Trace) -> str:
    """The call, as it is told."""
    return name_call(called_tool(trace), trace.call_id)


def name_call(tool: str, call_id: str) -> str:
    """A call with the caller's name of its tool."""
    return f"{tool_name(tool)} ({call_id})"


def turn_key(trace: Trace) -> tuple[str, str, int]:
    """The turn, told from those of the same number in other sessions and processes."""
    intent = trace.intent
    run = trace.call_id if is_job(trace) else intent.get("run") or intent.get("owner")
    return trace.session, str(run), trace.turn


def file_changes(trace: Trace) -> list[FileChange]:
    """What the call changed, as far as is known; empty if it did not come to that."""
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
    """What hooks made of the files behind the call is how the call left them."""
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
    """What the call took or brought back, if it is an undo or a redo that happened."""
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
    """Whether the call takes back or brings back, instead of changing anew."""
    return called_tool(trace) == TOOL


def is_redo(trace: Trace) -> bool:
    """Whether it brought back what an undo took."""
    data = trace.intent.get("data")
    return is_undo(trace) and isinstance(data, Mapping) and bool(data.get("redo"))


class UndoPart(NamedTuple):
    """An undo of many files is carried out in parts, each a call of its own with the same
    `run`. `first` is the part that began it, in whichever session; `rest` counts the files that
    were left after this part.
    """

    run: str
    first: bool = True
    rest: int = 0


def undo_part(trace: Trace) -> UndoPart:
    """Which part of which undo the call carried out; most have one part."""
    data = trace.intent.get("data")
    if not isinstance(data, Mapping) or "run" not in data:
        return UndoPart(f"{trace.session}:{trace.call_id}")
    return UndoPart(str(data["run"]), bool(data.get("first")), int(data.get("rest", 0)))


def is_job(trace: Trace) -> bool:
    """Whether it is the record of what a background job changed, which no turn waits for."""
    return trace.intent.get("runs") == "job"


def calls_named(trace: Trace) -> tuple[str, ...]:
    """The ids of the calls that an undo took back, or a redo brought back."""
    data = trace.intent.get("data")
    if not is_undo(trace) or not isinstance(data, Mapping):
        return ()
    return tuple(map(str, data.get("redid" if is_redo(trace) else "undid", ())))


def may_have_changed(trace: Trace) -> bool:
    """Whether the call changed something; one that has not ended may yet have."""
    return (
        trace.completed is None or bool(file_changes(trace)) or why_not_undoable(trace) is not None
    )


def requested_by_user(trace: Trace) -> bool:
    """Whether the user asked for that undo."""
    data = trace.intent.get("data")
    return isinstance(data, Mapping) and data.get("by") == "person"


def why_not_undoable(trace: Trace) -> str | None:
    """Why what the call did cannot be taken back, None if it can, or did nothing to files."""
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
    """What of a call cannot be taken back, or is not taken back with it."""
    name, why = call_label(trace), why_not_undoable(trace)
    if why is not None:
        return [f"{name} cannot be undone: {why}"]
    found = []
    effects = (trace.completed or {}).get("effects")
    left = effects.get("left_out") if isinstance(effects, Mapping) else None
    if isinstance(left, Mapping) and (unseen := left.get(trace.call_id)):
        # A job that is not seen to its end names itself as what is left out.
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
    """Which changes still stand; meets traces from the newest to the oldest."""

    def __init__(self) -> None:
        self._undone: dict[CallKey, set[str]] = {}
        self._ids: dict[str, list[CallKey]] = {}
        # The last undo of each call.
        self._parts: dict[CallKey, UndoPart] = {}

    def meet(self, trace: Trace) -> list[FileChange]:
        """The changes of the call that still stand."""
        key = call_key(trace)
        gone = self._undone.get(key, ())
        for taken in reverted_calls(trace):
            # An undo that was itself taken back on a path no longer takes anything back.
            paths = taken.paths if not gone else [one for one in taken.paths if one not in gone]
            if taken.key not in self._undone:
                self._undone[taken.key] = set()
                self._ids.setdefault(taken.key.call_id, []).append(taken.key)
            self._undone[taken.key].update(paths)
            self._parts.setdefault(taken.key, undo_part(trace))
        return [step for step in file_changes(trace) if self.stands(key, step.path)]

    def stands(self, key: CallKey, path: str) -> bool:
        """Whether what that call did to the path was not taken back since."""
        return path not in self._undone.get(key, ())

    def unfinished_run(self, key: CallKey) -> str | None:
        """The undo of the call that was carried out in parts and has not got to its end."""
        part = self._parts.get(key)
        return part.run if part is not None and part.rest else None

    def holds(self, trace: Trace, path: str) -> bool:
        """The same, as people see it: what a redo brought back is gone with a later undo of
        the calls, which takes the redo itself not back.
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
    """The history: every change of every file, the newest first."""
    standing = UndoState()
    for trace in traces:
        standing.meet(trace)
        if session is not None and trace.session != session:
            continue
        for step in file_changes(trace):
            if paths is None or step.path in paths:
                yield _past_change(trace, step, standing=standing.holds(trace, step.path))


def count_changed_files(traces: Iterable[Trace], conversations: Collection[str]) -> Counter[str]:
    """How many files each conversation, or the session of its name, has changed that still stand;
    without files in caches. The newest trace comes first.
    """
    standing, found = UndoState(), set[tuple[str, str]]()
    owners = {call_owner(one): one for one in conversations}
    for trace in traces:
        steps = [one for one in standing.meet(trace) if one.attributed and not is_cache(one.path)]
        if not steps or is_undo(trace):
            continue
        # Those of subagents have dots in their names.
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
    """The files of the call that were taken back; looks no further back than to the call."""
    wanted, standing, before = CallKey(session, call_id), UndoState(), None
    while page := await store.traces(before=before, limit=_PAGE):
        for trace in page:
            standing.meet(trace)
            if call_key(trace) == wanted:
                paths = [step.path for step in file_changes(trace)]
                return [path for path in paths if not standing.stands(wanted, path)]
        before = page[-1].row
    return []
