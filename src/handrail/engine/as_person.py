"""What a person asks for themselves: recorded like any call, and asked of nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handrail.core.call import ToolCall
from handrail.core.events import Listener
from handrail.core.results import ToolResult
from handrail.engine.numbers import Numbers
from handrail.engine.pipeline import Pipeline
from handrail.engine.undo_result import UndoResult
from handrail.policy.guardrails.gates import GateResult, GateRun, gate_run


@dataclass(frozen=True, slots=True)
class AsPerson:
    """Makes calls in the person's name."""

    pipeline: Pipeline
    numbers: Numbers

    async def run(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Make one call."""
        return await self._call(name, arguments, self.numbers.turn())

    async def undo(
        self, arguments: Mapping[str, Any], listener: Listener | None = None
    ) -> ToolResult:
        """Undo or redo, part after part where there are very many files. What happened is said
        in one result; a part that fails leaves the parts before it done.
        """
        turn = self.numbers.turn()
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
        given = self.numbers.fresh_id()
        call = ToolCall(given, name, arguments, turn, "person", by_person=True, continues=continues)
        return await self.pipeline.finish(self.pipeline.preparer.prepare(call), listener)

    async def run_quality_gates(self) -> Sequence[GateResult]:
        """Run the commands that the settings name as quality gates."""

        async def run(command: str, timeout_s: float) -> GateRun:
            arguments = {"command": command, "timeout_s": timeout_s}
            return gate_run(await self.run("run_command", arguments))

        return await self.pipeline.gate.guardrails.run_quality_gates(run)


def undo_arguments(
    session: str,
    call: str | None,
    *,
    turn: str | int | None = None,
    path: str | None = None,
    since: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """The arguments of the tool `undo`; raises TypeError if more than one thing is named.

    A turn given as a number is one of `session`: other sessions count theirs alike.
    """
    own = f"{session}:{turn}" if isinstance(turn, int) else turn
    # Arguments are text; a name that is not valid UTF-8 is given as it is shown.
    written = None if path is None else path.encode("utf-8", "backslashreplace").decode("utf-8")
    named = {"call": call, "turn": own, "path": written, "since": since}
    given = {scope: target for scope, target in named.items() if target is not None}
    if len(given) > 1:
        raise TypeError(f"name one of {', '.join(given)}, not {len(given)}")
    # As short as it was asked, since the record shows it.
    arguments: dict[str, Any] = {"target": "last"}
    for scope, target in given.items():
        arguments = {"target": target} if scope == "call" else {"scope": scope, "target": target}
    return {**arguments, "force": True} if force else arguments
