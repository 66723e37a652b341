"""Plans of calls: made before a call is cleared, described instead of committed in a dry run, and
queued in plan mode.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from handrail.core.plan import Plan
from handrail.core.ports.machine import Blobs
from handrail.core.problems import ProblemRaised
from handrail.core.results import Modifier, Output, PermissionGranted, Status
from handrail.core.tool import Tool
from handrail.core.verdicts import Effect
from handrail.engine.call_state import CallState, Decision, Outcome
from handrail.engine.executors.freshness import Freshness
from handrail.engine.planning.dry_run import PlannedActions
from handrail.engine.planning.mode import PlanMode
from handrail.engine.recording.payloads import one_line
from handrail.engine.registry import ToolOrigin
from handrail.engine.timing import DeadlineTimer
from handrail.policy.approval.grants import SessionGrants


@dataclass(frozen=True, slots=True)
class CallPlanner:
    """Makes and describes the plans of one runtime's calls."""

    freshness: Freshness
    plan_mode: PlanMode
    grants: SessionGrants
    timers: DeadlineTimer
    # Where large contents go that a commit replaces; None: they are not kept, or nothing is
    # committed.
    blobs: Blobs | None
    # What a dry run has described.
    actions: PlannedActions = field(default_factory=PlannedActions)

    async def preflight(self, state: CallState) -> None:
        """Start the time limit and run the tool's own check."""
        tool = _tool(state)
        self.timers.limit(state.timer, state.prepared.principal.policy.time_limit(tool))
        if tool.has_preflight:
            await tool.preflight(state.prepared.parsed.model, state.context)

    async def plan(self, state: CallState) -> Plan | None:
        """The plan of a call whose tool makes plans; None if the call can only be planned after a
        queued call has run.
        """
        prepared = state.prepared
        try:
            return await self.make_plan(state)
        except ProblemRaised:
            queued = prepared.origin.approval is not None
            if not queued and self.plan_mode.depends_on_queued(prepared):
                return None
            raise

    async def make_plan(self, state: CallState) -> Plan:
        """Ask the tool for its plan; raises `stale` if the model does not know what it changes."""
        from handrail.history.before_images import hash_ahead

        prepared = state.prepared
        try:
            plan = await _tool(state).plan(prepared.parsed.model, state.context)
        except ProblemRaised as raised:
            places = list(prepared.places.values())
            problem = self.freshness.explain(raised.problem, places, prepared.call.agent)
            raise ProblemRaised.of(problem) from raised
        state.notes.model_notes = self.freshness.check(plan, prepared.call.agent)
        if self.blobs is not None:
            state.effects.hashing = hash_ahead(plan, self.blobs)
        return plan

    def describe(self, state: CallState, plan: Plan | None, decision: Decision) -> Outcome:
        """The outcome of a call that is not carried out: described in a dry run, queued in plan
        mode.
        """
        from handrail.engine.planning.preview import call_preview

        if decision is Decision.QUEUE:
            return self.plan_mode.queue.add(state, plan)
        self.actions.note(state.prepared, plan)
        verdict, preview = state.clearance.verdict, call_preview(state.prepared, plan)
        lines = [f"[DRY-RUN] Would execute: {one_line(state.prepared)}"]
        if verdict is not None and verdict.effect is Effect.ASK:
            lines.append(f"(the user would be asked first: {verdict.reason})")
        elif verdict is not None and verdict.effect is Effect.DENY:
            lines.append("(plan mode: it would be queued for the user instead)")
        if preview:
            lines.append(preview)
        return Outcome(Status.PLANNED, Output("\n".join(lines), preview or None))

    def apply_modifiers(self, state: CallState) -> None:
        """Grant the permissions that the output of a built-in tool grants. A grant by any other
        tool, or one that is too broad, is dropped and reported.
        """
        outcome, entry = state.outcome, state.prepared.entry
        if outcome is None or not outcome.output.modifiers:
            return
        builtin = entry is not None and entry.origin is ToolOrigin.BUILTIN
        kept: list[Modifier] = []
        for modifier in outcome.output.modifiers:
            try:
                if isinstance(modifier, PermissionGranted):
                    self.grants.apply_tool_grant(
                        modifier, trusted=builtin and outcome.status is Status.OK
                    )
                kept.append(modifier)
            except ProblemRaised as raised:
                outcome.append(f"[handrail: {raised.problem.message}; this was ignored]")
        if len(kept) < len(outcome.output.modifiers):
            outcome.output = outcome.output._replace(modifiers=tuple(kept))


def _tool(state: CallState) -> Tool[Any]:
    entry = state.prepared.entry
    if entry is None:
        raise LookupError(f"there is no tool {state.prepared.call.name!r}")
    return entry.tool
