"""Messages for an agent about subagents and jobs that have ended."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.core.ports.processes import JobState
from handrail.engine.runtime import Runtime
from handrail.subagents.child import Subagent


def ended_agents(children: Iterable[Subagent]) -> list[str]:
    """Return a line for each background subagent that has ended, once. It contains no text of the
    subagent, which is untrusted.
    """
    lines = []
    for child in children:
        if child.background and not child.running and not child.announced:
            child.announced = True
            lines.append(
                f"[handrail: the background agent {child.id} has ended: {child.status}. "
                "Its answer can be read by its id.]"
            )
    return lines


async def ended_jobs(rt: Runtime, jobs: set[str]) -> list[str]:
    """Return a line for each of these jobs that has ended; it is removed from the set."""
    if not jobs:
        return []
    lines = []
    for job in await rt.jobs.list():
        if job.id in jobs and job.session == rt.session.id and job.state is not JobState.RUNNING:
            jobs.discard(job.id)
            end = "" if job.exit_code is None else f", exit code {job.exit_code}"
            lines.append(
                f"[handrail: the background job {job.id} has ended: {job.state.value}{end}. "
                "Its output can be read by its number.]"
            )
    return lines
