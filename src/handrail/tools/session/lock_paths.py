"""Reserve paths, so that other agents leave them alone for a while."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, writing
from handrail.core.ports.leases import PathReserver
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group, P
from handrail.core.traits import ToolTraits
from handrail.tools._lib.tool_base import Builtin


class LockTool(Builtin[P]):
    """A tool about reserved paths: it changes who may write, and no file."""

    group = Group.TASK
    # Locks expire, and only the owner can release them.
    always_safe = True

    def __init__(self, locks: PathReserver | None) -> None:
        self._locks = locks

    def enabled(self, session: Session) -> bool:
        del session
        return self._locks is not None

    def footprint(self, args: P) -> Footprint:
        """Return a footprint that allows one call at a time, over all agents."""
        del args
        return writing("session:locks")

    @property
    def reserver(self) -> PathReserver:
        """The service that reserves paths; raises `unavailable` if there is none."""
        if self._locks is None:
            raise ProblemRaised("unavailable", "paths cannot be reserved here")
        return self._locks


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
        """Return the tokens of the paths that are reserved now, and the owners of the others."""
        answer = await self.reserver.lock(ctx.agent_id, args.globs, args.ttl_s)
        lines = [f"locked {lease['glob']}: token {lease['token']}" for lease in answer["acquired"]]
        lines += [
            f"not locked {lease['glob']}: {lease['held_by']} has it for another {lease['for_s']} s"
            for lease in answer["denied"]
        ]
        problem = None if answer["acquired"] else _NOTHING
        return Output("\n".join(lines), data=answer, problem=problem)
