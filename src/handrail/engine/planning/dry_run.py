"""Describes calls instead of carrying them out: the actions of a dry run in order, and what the
user is shown of a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from handrail.core.plan import Plan
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.recording.payloads import one_line

if TYPE_CHECKING:
    from handrail.planmode.approval import ApprovedSnapshot


class PlannedAction(NamedTuple):
    """A call that would have been carried out, with the names of the caller's dialect."""

    tool_name: str
    description: str
    tool_input: Mapping[str, Any]


class PlannedActions:
    """The planned actions of one session."""

    def __init__(self) -> None:
        self._actions: list[PlannedAction] = []

    def note(self, prepared: PreparedCall, plan: Plan | None) -> None:
        """Note a call that was described instead of carried out."""
        name, arguments, words = prepared.name, prepared.arguments, prepared.parsed.words
        if words is not None:
            name, arguments = words.tool(name), words.spell(arguments)
        self._actions.append(PlannedAction(name, describe_call(prepared, plan), arguments))

    @property
    def actions(self) -> tuple[PlannedAction, ...]:
        """All of them, in the order of the calls."""
        return tuple(self._actions)

    def summary(self) -> str:
        """The plan in a few lines."""
        if not self._actions:
            return "Dry run: nothing would be done."
        many = "1 action" if len(self._actions) == 1 else f"{len(self._actions)} actions"
        listed = [
            f"{number}. {action.tool_name}: {action.description}"
            for number, action in enumerate(self._actions, 1)
        ]
        return "\n".join([f"Dry run: {many} would be carried out.", *listed])


def describe_call(prepared: PreparedCall, plan: Plan | None) -> str:
    """Return what a call would do, in one line."""
    if plan is not None and plan.changes:
        return ", ".join(f"{change.operation} {change.place.shown}" for change in plan.changes)
    analysis = prepared.footprint.command
    if analysis is not None:
        command = prepared.tool.render_call(prepared.args) or one_line(prepared)
        return f"{' '.join(command.split())} ({analysis.safety_class.word})"
    return one_line(prepared)


def approval_snapshot(prepared: PreparedCall, plan: Plan | None) -> ApprovedSnapshot:
    """Return the call as the user is shown it for approval."""
    from handrail.engine.planning.preview import full_preview
    from handrail.planmode.approval import ApprovedSnapshot, call_fingerprint, change_shapes

    what = call_fingerprint(prepared.name, prepared.arguments, prepared.footprint.command)
    return ApprovedSnapshot(what, change_shapes(plan), full_preview(prepared, plan))
