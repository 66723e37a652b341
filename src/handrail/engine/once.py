"""A call that brings its own id happens once, whoever makes it again and in which process."""

from __future__ import annotations

from dataclasses import dataclass, replace

from handrail.core.events import Listener
from handrail.core.outputs import Outputs
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.engine.answered import Answered
from handrail.engine.numbers import Numbers
from handrail.engine.pipeline import Pipeline
from handrail.engine.prepare import Prepared
from handrail.engine.scheduler import into, lend_slot


@dataclass(frozen=True, slots=True)
class Once:
    """Carries out calls with ids that somebody else gave."""

    pipeline: Pipeline
    answered: Answered
    numbers: Numbers
    stored: Outputs

    async def run(self, prepared: Prepared, listener: Listener | None) -> ToolResult:
        """Run a call unless its id was used before."""
        given = prepared.call.id
        try:
            name = await self.answered.name_for(given, prepared.response)
            prepared.call = prepared.call._replace(id=name)
            result = await self._claimed(prepared, listener)
        except ProblemRaised as raised:
            # Whether the id was used cannot be told: refused, not run at a venture.
            # Recorded under a name of its own: the id may belong to an earlier call.
            prepared.problem = raised.problem
            prepared.call = prepared.call._replace(id=self._other_id(prepared))
            result = await self.pipeline.finish(prepared, listener)
        return result if result.call_id == given else replace(result, call_id=given)

    async def _claimed(self, prepared: Prepared, listener: Listener | None) -> ToolResult:
        claim = await self.answered.claim(prepared)
        if claim.clash is not None:
            prepared.problem = claim.clash
            # Recorded under a name of its own: the id belongs to the earlier call.
            prepared.call = prepared.call._replace(id=self._other_id(prepared))
            return await self.pipeline.finish(prepared, listener)
        if claim.earlier is not None:
            found: list[ToolResult | None] = []
            await lend_slot(into(found, claim.earlier()))
            earlier = found[0]
            if earlier is None:
                # Whoever had it gave up; one of those who waited may take it.
                return await self._claimed(prepared, listener)
            # Its text is read once more, under the rules that hold now.
            await self.stored.check(prepared.call.id, prepared.call)
            self.pipeline.recorder.replayed(prepared, self._other_id(prepared), earlier)
            return earlier
        result: ToolResult | None = None
        try:
            result = await self.pipeline.finish(prepared, listener)
        finally:
            self.answered.settle(prepared.call.id, result)
        return result

    def _other_id(self, prepared: Prepared) -> str:
        return self.numbers.repeated_id(prepared.call.id)
