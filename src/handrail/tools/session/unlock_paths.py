"""Release reserved paths."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.results import Output
from handrail.core.traits import ToolTraits
from handrail.tools.session.lock_paths import LockTool


class UnlockPathsParams(Params):
    tokens: list[str] = Field(
        min_length=1, max_length=100, description="What [[tool:lock_paths]] answered."
    )


class UnlockPaths(LockTool[UnlockPathsParams]):
    name = "unlock_paths"
    summary = "Give back paths that you have reserved."
    params = UnlockPathsParams
    effects = Effects.SESSION
    traits = ToolTraits(hidden_by_default=True)

    async def run(self, args: UnlockPathsParams, ctx: ToolContext) -> Output:
        """Return which of the paths the caller had reserved."""
        released = list(await self.reserver.unlock(ctx.agent_id, args.tokens))
        unknown = [token for token in dict.fromkeys(args.tokens) if token not in released]
        lines = [f"unlocked {token}" for token in released]
        lines += [f"{token} is no lock of yours, or its time is over" for token in unknown]
        return Output("\n".join(lines), data={"released": released, "unknown": unknown})
