"""Undo or redo changes of this session. The engine commits the result like any plan."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import OPEN_ENDED, Footprint
from handrail.core.lazy import Lazy
from handrail.core.names.caller_words import shown_arg
from handrail.core.plan import Plan
from handrail.core.ports.undo import Requester, Scope, UndoCall, UndoRequest, UndoService
from handrail.core.problems import ProblemRaised
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.core.verdicts import Risk
from handrail.tools._lib.tool_base import Builtin


class UndoParams(Params):
    scope: Scope = Field("call", description="What to undo.")
    target: str = Field(
        "last",
        description="The id of a call, a turn (or current), a path, or since when (start, all, a time, an id).",
    )
    redo: bool = Field(False, description="Redo what was undone instead.")
    force: bool = Field(False, description="Overwrite what others changed since.")


class UndoTool(Builtin[UndoParams]):
    name = "undo"
    summary = "Undo file changes of this session."
    params = UndoParams
    effects = Effects.OPEN_ENDED
    traits = ToolTraits(takes_pattern=False, reverts_changes=True)
    group = Group.EDIT

    def __init__(self, past: Lazy[UndoService]) -> None:
        self._past = past

    def footprint(self, args: UndoParams) -> Footprint:
        """Return an exclusive footprint: only the record knows which files change."""
        del args
        return OPEN_ENDED

    def risk(self, args: UndoParams) -> Risk:
        """Return the risk of the calls that are undone: of an edit."""
        del args
        return Risk.MODERATE

    async def preflight(self, args: UndoParams, ctx: ToolContext) -> None:
        """Raise a problem for overwriting changes of others, which only a user may, and for a scope
        without its name.
        """
        if args.force and not ctx.call.by_person:
            raise ProblemRaised(
                "denied",
                "only the user may overwrite what others changed since",
                hint="leave out force; the user can run `handrail undo --force`",
                field="force",
            )
        if args.target == "last" and args.scope in ("path", "since"):
            what = "which file" if args.scope == "path" else "since when: start, all, a time, an id"
            raise ProblemRaised("invalid_arguments", f"say {what}", field="target")

    async def plan(self, args: UndoParams, ctx: ToolContext) -> Plan:
        """Return the changes that undo it; raises `not_found`, `conflict` or `already_applied`."""
        if args.scope != "turn" or args.target != "current":
            return await self._make(UndoRequest(args.scope, args.target, args.force), args, ctx)
        current = f"{ctx.session.id}:{ctx.turn_id}"
        try:
            return await self._make(UndoRequest("turn", current, args.force), args, ctx)
        except ProblemRaised as raised:
            if raised.problem.code not in ("not_found", "already_applied"):
                raise
            verb = "redo" if args.redo else "undo"
            raise ProblemRaised(
                "not_found",
                f"nothing to {verb}: the current turn ({ctx.turn_id}) holds no such change",
                hint=_newest_turn_hint(),
                field="target",
            ) from raised

    async def _make(self, request: UndoRequest, args: UndoParams, ctx: ToolContext) -> Plan:
        """Return the plan, or that of the next part, with a report of the progress."""
        asker = Requester(ctx.session.id, ctx.call.by_person)
        make_plan = self._past.value.redo_plan if args.redo else self._past.value.undo_plan
        plan = await make_plan(request, asker, UndoCall(ctx.call.id, ctx.call.continues))
        if isinstance(plan.data, Mapping) and "total" in plan.data:
            ctx.report(f"{plan.data['done']:,} of {plan.data['total']:,} files")
        return plan


def _newest_turn_hint() -> str:
    scope, target = shown_arg("scope"), shown_arg("target")
    if scope is None or target is None:
        return "a turn is one message of the model; a file is reverted by its path"
    return f'{scope} "turn" with {target} "last" is the newest turn with changes'
