"""Reserve paths, so that other agents leave them alone for a while."""

from __future__ import annotations

from pydantic import Field

from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.problems import Problem
from handrail.core.results import Output
from handrail.core.tool import Params
from handrail.core.traits import ToolTraits
from handrail.tools._lib.locks import LockTool

_NOTHING = Problem(
    "conflict",
    "nothing was locked: others have reserved all of it",
    hint="work on something else meanwhile, or try again when their time is over",
)


class LockPathsParams(Params):
    globs: list[str] = Field(
        min_length=1,
        max_length=20,
        description="Paths or globs; a directory stands for all in it.",
    )
    ttl_s: float = Field(300, ge=1, le=3600, description="How many seconds they stay reserved.")


class LockPaths(LockTool[LockPathsParams]):
    name = "lock_paths"
    summary = "Reserve paths, so that other agents leave them alone."
    params = LockPathsParams
    effects = Effects.SESSION
    traits = ToolTraits(hidden_by_default=True)

    async def run(self, args: LockPathsParams, ctx: ToolContext) -> Output:
        """The tokens of what is reserved now, and who has the rest."""
        answer = await self.keeper.lock(ctx.agent_id, args.globs, args.ttl_s)
        lines = [f"locked {one['glob']}: token {one['token']}" for one in answer["acquired"]]
        lines += [
            f"not locked {one['glob']}: {one['held_by']} has it for another {one['for_s']} s"
            for one in answer["denied"]
        ]
        problem = None if answer["acquired"] else _NOTHING
        return Output("\n".join(lines), data=answer, problem=problem)
