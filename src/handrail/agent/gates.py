"""The quality gates of the settings, run when the model says that it is done."""

from __future__ import annotations

from typing import Final

from handrail.engine.runtime import Runtime
from handrail.policy.guardrails.gates import gate_feedback

# A model that cannot satisfy a gate is not asked for ever.
_MAX_ROUNDS: Final = 3


class QualityGates:
    """Asks the gates of one task, a limited number of times."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._rounds = 0

    async def feedback(self) -> str | None:
        """What the gates say to the model; None if they pass or were asked often enough."""
        if self._rounds >= _MAX_ROUNDS:
            return None
        self._rounds += 1
        return gate_feedback(await self._rt.run_quality_gates())
