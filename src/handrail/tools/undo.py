"""Take back a change of this session, or bring it back. The engine commits it like any plan."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from handrail.core.context import ToolContext
from handrail.core.footprint import OPEN_ENDED, Footprint
from handrail.core.plan import Plan
from handrail.core.ports import Past
from handrail.core.tool import Group, Params
from handrail.core.verdicts import Risk
from handrail.tools._lib.builtin import Builtin


class UndoParams(Params):
    scope: Literal["call"] = Field("call", description="What to take back.")
    target: str = Field("last", description='The id of a call, or "last".')
    redo: bool = Field(False, description="Bring back what was undone instead.")


class UndoTool(Builtin[UndoParams]):
    name = "undo"
    summary = "Take back a file change of this session."
    params = UndoParams
    group = Group.EDIT

    def __init__(self, past: Past) -> None:
        self._past = past

    def footprint(self, args: UndoParams) -> Footprint:
        """Which files it touches is known only from the record: it runs alone."""
        del args
        return OPEN_ENDED

    def risk(self, args: UndoParams) -> Risk:
        """It changes files, and no more than the calls it takes back."""
        del args
        return Risk.MODERATE

    async def plan(self, args: UndoParams, ctx: ToolContext) -> Plan:
        """The changes that take the call back; `not_found`, `conflict`, `already_applied`."""
        call = None if args.target == "last" else args.target
        # A model reaches its own session's calls; a person all of this store.
        session = None if ctx.call.by_person else ctx.session.id
        if args.redo:
            return await self._past.redo_plan(call, session=session)
        return await self._past.undo_plan(call, session=session)
