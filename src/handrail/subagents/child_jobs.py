"""The background jobs of a subagent, which end with it."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Final

from handrail.core.ports.processes import JobState
from handrail.core.problems import ProblemRaised
from handrail.engine.runtime import Runtime

_MOST_CALLS: Final = 10_000


async def end_jobs(rt: Runtime, agent: str, followed: Collection[str]) -> None:
    """End the running jobs that the calls of an agent have started, and those that it followed."""
    # An agent that is ended within a step does not follow the jobs of that step yet.
    made = await rt.store.calls(session=rt.session.id, agent=agent, limit=_MOST_CALLS)
    calls = {record.call_id for record in made}
    if not calls and not followed:
        return
    for job in await rt.jobs.list():
        own = job.session == rt.session.id and (job.call_id in calls or job.id in followed)
        if own and job.state is JobState.RUNNING:
            # It may have ended meanwhile.
            with suppress(ProblemRaised):
                await rt.jobs.kill(job.id)
