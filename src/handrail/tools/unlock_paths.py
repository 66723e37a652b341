"""Give back paths that were reserved."""

from __future__ import annotations

from pydantic import Field

from handrail.core.context import Session, ToolContext
from handrail.core.footprint import Footprint, writing
from handrail.core.leases import PathReserver
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group, Params
from handrail.core.verdicts import Risk
from handrail.tools._lib.builtin import Builtin
from handrail.tools.lock_paths import RESERVED


class UnlockPathsParams(Params):
    tokens: list[str] = Field(
        min_length=1, max_length=100, description="What [[tool:lock_paths]] answered."
    )


class UnlockPaths(Builtin[UnlockPathsParams]):
    name = "unlock_paths"
    summary = "Give back paths that you have reserved."
    params = UnlockPathsParams
    group = Group.TASK

    def __init__(self, locks: PathReserver | None) -> None:
        self._locks = locks

    def enabled(self, session: Session) -> bool:
        """Only where there is somebody to keep them."""
        del session
        return self._locks is not None

    def footprint(self, args: UnlockPathsParams) -> Footprint:
        """It changes who may write, and no file."""
        del args
        return writing(RESERVED)

    def risk(self, args: UnlockPathsParams) -> Risk:
        """Only one's own can be given back."""
        del args
        return Risk.SAFE

    async def run(self, args: UnlockPathsParams, ctx: ToolContext) -> Output:
        """Which of them were yours."""
        if self._locks is None:
            raise ProblemRaised("unavailable", "paths cannot be reserved here")
        released = list(await self._locks.unlock(ctx.agent_id, args.tokens))
        unknown = [one for one in dict.fromkeys(args.tokens) if one not in released]
        lines = [f"unlocked {one}" for one in released]
        lines += [f"{one} is no lock of yours, or its time is over" for one in unknown]
        return Output("\n".join(lines), data={"released": released, "unknown": unknown})
