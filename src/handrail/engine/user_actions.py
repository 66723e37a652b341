"""The user's own actions: recorded like any call, and allowed by the user's policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from handrail.core.call import ToolCall
from handrail.core.places import shown
from handrail.core.ports.undo import AGENT_PREFIX
from handrail.core.problems import Problem
from handrail.core.results import ChangeRecord, ToolResult
from handrail.engine.pipeline import Pipeline
from handrail.engine.prepare.preparer import CallIds, Preparer
from handrail.engine.recording.idempotency import IdempotentRunner
from handrail.planmode.approval import PlanApproval
from handrail.planmode.item import PlanItem
from handrail.policy.guardrails.gates import GateResult, GateRun, gate_run

if TYPE_CHECKING:
    from handrail.core.events import Listener
    from handrail.policy.guardrails.guard import Guardrails

_NAMED: Final = 20
_WORDS: Final = {"create": "recreated", "write": "restored", "delete": "removed"}
# Lists in the data of each part that are joined.
_LISTS: Final = ("forced", "undid", "redid", "passed_over")


class UndoResult:
    """Collects the results of the parts; `rest` counts the files that are not undone yet."""

    def __init__(self, first: ToolResult) -> None:
        self._first = self._last = first
        self._duration_s = float(first.meta.get("duration_s", 0.0))
        self._changes: list[ChangeRecord] = list(first.changes)
        self._lists: dict[str, dict[str, None]] = {}
        self._collect(first)

    @property
    def rest(self) -> int:
        """The number of files that are not undone yet, by the last part that was carried out."""
        return int(_data(self._last).get("rest", 0))

    def add(self, part: ToolResult) -> None:
        """Add a part that has ended or failed."""
        self._duration_s += float(part.meta.get("duration_s", 0.0))
        self._changes += part.changes
        self._collect(part)
        self._last = part

    def result(self) -> ToolResult:
        """Return the result of all parts; if there is only one, its own."""
        first, last = self._first, self._last
        if last is first:
            return first
        names = {name: list(found) for name, found in self._lists.items()}
        paths = [one.path for one in self._changes]
        data = {**_data(first), **names, "paths": paths, "done": len(paths), "rest": self.rest}
        text, problem = self._text(), last.problem
        if problem is not None:
            problem = self._with_progress(problem)
            text = f"{text}\n{problem}"
        return replace(
            last,
            call_id=first.call_id,
            text=text,
            display=None,
            data=data,
            problem=problem,
            changes=tuple(self._changes),
            meta={**last.meta, "duration_s": self._duration_s},
        )

    def _collect(self, part: ToolResult) -> None:
        data = _data(part)
        for name in _LISTS:
            if name in data:
                self._lists.setdefault(name, {}).update(dict.fromkeys(data[name]))

    def _text(self) -> str:
        said = self._first.text.partition("; ")[0].partition("\n")[0]
        passed = list(self._lists.get("passed_over", ()))
        counts = ", ".join(f"{count:,} {what}" for what, count in _counts(self._changes).items())
        total = f"{len(self._changes):,} files and folders: {counts}"
        lines = [f"  {_WORDS[one.operation]} {shown(one.path)}" for one in self._changes[:_NAMED]]
        if (left := len(self._changes) - _NAMED) > 0:
            lines.append(f"  and {left:,} more")
        return "\n".join(["; ".join([said, *passed[:8], total]), *lines])

    def _with_progress(self, problem: Problem) -> Problem:
        data = _data(self._first)
        done, total = len(self._changes), int(data.get("total", 0))
        message = f"{done:,} of {total:,} are done, then it stopped: {problem.message}"
        again = "`handrail redo`" if data.get("redo") else "`handrail undo`"
        hint = f"what is done stays; {again} goes on with the rest"
        return replace(
            problem, message=message, hint=f"{problem.hint}; {hint}" if problem.hint else hint
        )


def _counts(changes: Sequence[ChangeRecord]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in changes:
        what = _WORDS[one.operation]
        found[what] = found.get(what, 0) + 1
    return found


def _data(result: ToolResult) -> Mapping[str, Any]:
    return result.data if isinstance(result.data, Mapping) else {}


@dataclass(frozen=True, slots=True)
class UserActions:
    """Makes calls for the user."""

    pipeline: Pipeline
    preparer: Preparer
    ids: CallIds
    guardrails: Guardrails

    async def run(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Make one call."""
        return await self._call(name, arguments, self.ids.turn())

    async def undo(
        self,
        call: str | None,
        listener: Listener | None,
        *,
        redo: bool = False,
        **chosen: Any,
    ) -> ToolResult:
        """Undo or redo, in parts if there are very many files. Returns one result for all parts; a
        part that fails leaves the parts before it done. `chosen` goes to `_undo_arguments`.
        """
        arguments = _undo_arguments(self.preparer.visibility.session.id, call, **chosen)
        if redo:
            arguments["redo"] = True
        turn = self.ids.turn()
        first = result = await self._call("undo", arguments, turn, listener)
        whole = UndoResult(first)
        while result.ok and whole.rest:
            result = await self._call("undo", arguments, turn, listener, first.call_id)
            whole.add(result)
        return whole.result()

    async def _call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        turn: int,
        listener: Listener | None = None,
        continues: str | None = None,
    ) -> ToolResult:
        given = self.ids.fresh_id()
        call = ToolCall(given, name, arguments, turn, "person", by_person=True, continues=continues)
        return await self.pipeline.run(self.preparer.prepare(call), listener)

    async def run_quality_gates(self) -> Sequence[GateResult]:
        """Run the commands that the settings name as quality gates."""

        async def run(command: str, timeout_s: float) -> GateRun:
            arguments = {"command": command, "timeout_s": timeout_s}
            return gate_run(await self.run("run_command", arguments))

        return await self.guardrails.run_quality_gates(run)


def _undo_arguments(
    session: str,
    call: str | None,
    *,
    turn: str | int | None = None,
    path: str | None = None,
    since: str | None = None,
    agent: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Return the arguments of the tool `undo`; raises TypeError if more than one target is named.

    A turn given as a number is one of `session`: other sessions have equal numbers.
    """
    own = f"{session}:{turn}" if isinstance(turn, int) else turn
    # Arguments are text; a name that is not valid UTF-8 is passed as it is shown.
    written = None if path is None else path.encode("utf-8", "backslashreplace").decode("utf-8")
    named = {"call": call, "turn": own, "path": written, "since": since, "agent": agent}
    given = {scope: target for scope, target in named.items() if target is not None}
    if len(given) > 1:
        raise TypeError(f"name one of {', '.join(given)}, not {len(given)}")
    if agent is not None:
        given = {"since": f"{AGENT_PREFIX}{agent}"}
    # Without default values, because the record shows these arguments.
    arguments: dict[str, Any] = {"target": "last"}
    for scope, target in given.items():
        arguments = {"target": target} if scope == "call" else {"scope": scope, "target": target}
    return {**arguments, "force": True} if force else arguments


@dataclass(frozen=True, slots=True)
class QueuedCallRunner:
    """Carries out queued calls; each id runs once, whichever process approves it."""

    runner: IdempotentRunner
    preparer: Preparer

    def same_turn(self) -> AbstractContextManager[int]:
        """Make calls that are approved together one turn, so that they can be undone together."""
        return self.runner.ids.same_turn()

    async def run(self, call_id: str, item: PlanItem, promise: PlanApproval) -> ToolResult:
        """Carry out the call of an item under an id, with the user's approval."""
        call = ToolCall(call_id, item.tool, item.args, self.runner.ids.turn(), item.agent)
        prepared = self.preparer.prepare(call)
        prepared.origin.approval = promise
        prepared.origin.has_client_id = True
        return await self.runner.run(prepared)
