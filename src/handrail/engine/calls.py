"""What a caller hands over, as calls that have been prepared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from handrail.core.call import ToolCall
from handrail.engine.numbers import Numbers
from handrail.engine.prepare import Prepared, Preparer

Call = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Calls:
    """Makes calls out of what a caller gave."""

    preparer: Preparer
    numbers: Numbers

    def prepare_all(self, calls: Iterable[Call], turn: int, agent: str) -> list[Prepared]:
        """Each call, understood; TypeError for what is no list of calls."""
        calls = list(calls)
        if not all(isinstance(call, Mapping) for call in calls):
            raise TypeError('a batch is a list of calls, each {"name": ..., "arguments": {...}}')
        prepared = [
            self.preparer.prepare(
                self.tool_call(call.get("id"), call.get("name"), call.get("arguments"), turn, agent)
            )
            for call in calls
        ]
        for one, call in zip(prepared, calls, strict=True):
            one.given_id = call.get("id") is not None
        return prepared

    def tool_call(
        self,
        id: Any,
        name: Any,
        arguments: Mapping[str, Any] | str | None,
        turn: int,
        agent: str,
    ) -> ToolCall:
        """One call; without an id of its own it gets a new one."""
        call_id = str(id) if id is not None else self.numbers.fresh_id()
        given = {} if arguments is None else arguments
        return ToolCall(call_id, "" if name is None else str(name), given, turn, agent)
