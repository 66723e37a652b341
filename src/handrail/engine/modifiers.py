"""What a tool's result asks of the session beyond its text.

Only tools of our own may grant anything: a server's answer is text that somebody else wrote.
"""

from __future__ import annotations

from handrail.core.problems import ProblemRaised
from handrail.core.results import Modifier, PermissionGranted, Status
from handrail.engine.call_state import CallOutcome, CallState
from handrail.engine.registry import ToolOrigin
from handrail.policy.approval.grants import SessionGrants


def take_up(running: CallState, outcome: CallOutcome, grants: SessionGrants) -> None:
    """Grant what a built-in tool's result grants; what another tool wants granted, or what is
    too broad, is dropped, and that is said.
    """
    kept: list[Modifier] = []
    entry = running.prepared.entry
    ours = entry is not None and entry.origin is ToolOrigin.BUILTIN
    for modifier in outcome.modifiers:
        try:
            if isinstance(modifier, PermissionGranted):
                grants.apply_tool_grant(modifier, trusted=ours and outcome.status is Status.OK)
            kept.append(modifier)
        except ProblemRaised as raised:
            outcome.text += f"\n[handrail: {raised.problem.message}; this was ignored]"
    outcome.modifiers = tuple(kept)
