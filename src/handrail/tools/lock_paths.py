"""Reserve paths, so that other agents leave them alone for a while."""

from __future__ import annotations

from pydantic import Field

from handrail.core.context import Session, ToolContext
from handrail.core.footprint import Footprint, writing
from handrail.core.leases import PathReserver
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group, Params
from handrail.core.verdicts import Risk
from handrail.tools._lib.builtin import Builtin

RESERVED = "session:locks"
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


class LockPaths(Builtin[LockPathsParams]):
    name = "lock_paths"
    summary = "Reserve paths, so that other agents leave them alone."
    params = LockPathsParams
    group = Group.TASK

    def __init__(self, locks: PathReserver | None) -> None:
        self._locks = locks

    def enabled(self, session: Session) -> bool:
        """Only where there is somebody to keep them."""
        del session
        return self._locks is not None

    def footprint(self, args: LockPathsParams) -> Footprint:
        """It changes who may write, and no file."""
        del args
        return writing(RESERVED)

    def risk(self, args: LockPathsParams) -> Risk:
        """It ends by itself."""
        del args
        return Risk.SAFE

    async def run(self, args: LockPathsParams, ctx: ToolContext) -> Output:
        """The tokens of what is reserved now, and who has the rest."""
        if self._locks is None:
            raise ProblemRaised("unavailable", "paths cannot be reserved here")
        answer = await self._locks.lock(ctx.agent_id, args.globs, args.ttl_s)
        lines = [f"locked {one['glob']}: token {one['token']}" for one in answer["acquired"]]
        lines += [
            f"not locked {one['glob']}: {one['held_by']} has it for another {one['for_s']} s"
            for one in answer["denied"]
        ]
        problem = None if answer["acquired"] else _NOTHING
        return Output("\n".join(lines), data=answer, problem=problem)
