"""How background jobs are named and described."""

from __future__ import annotations

from typing import Any

from handrail.core.context import Session, ToolContext
from handrail.core.lazy import Lazy
from handrail.core.outputs import Outputs
from handrail.core.ports.processes import Job, JobState, Processes
from handrail.core.ports.subagents import Subagents
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.services import Shell
from handrail.tools._lib.tool_base import Builtin, P


class JobTool(Builtin[P]):
    """A tool about background jobs; disabled where no command can be run."""

    def __init__(
        self,
        shell: Lazy[Shell] | None,
        outputs: Outputs | None = None,
        subagents: Lazy[Subagents] | None = None,
    ) -> None:
        self._shell = shell
        self._outputs = outputs
        self._subagents = subagents

    def enabled(self, session: Session) -> bool:
        runs = session.runs_commands and self._shell is not None
        return runs or self._started_agents is not None

    def agents_with(self, id: str) -> Subagents | None:
        """Return the subagent service if the id is that of a subagent, else None."""
        started = self._started_agents
        return started if started is not None and started.knows(id) else None

    @property
    def _started_agents(self) -> Subagents | None:
        """Return the subagent service if a subagent was started in this session, else None."""
        return None if self._subagents is None else self._subagents.built

    async def own(self, job_id: str, ctx: ToolContext) -> None:
        """Raise `not_found` unless the job belongs to this session, and `denied` if the caller must
        not read its output: a job of another agent, or output that a rule denies.
        """
        jobs = [job for job in await self._processes.jobs() if job.session == ctx.session.id]
        job = next((job for job in jobs if job.id == job_id), None)
        if job is None:
            ids = [job.id for job in jobs]
            raise ProblemRaised(
                "not_found",
                f"there is no job {job_id!r} in this session",
                hint=f"jobs: {', '.join(ids)}" if ids else "no job was started yet",
                field="job",
            )
        if self._outputs is not None:
            await self._outputs.check(job.call_id, ctx.call)

    def unavailable(self) -> ProblemRaised:
        """Return the problem for a runtime that cannot run commands."""
        return ProblemRaised("unavailable", "commands cannot be run here")

    @property
    def _processes(self) -> Processes:
        if self._shell is None:
            raise self.unavailable()
        return self._shell.value.processes


def describe_job(job: Job) -> str:
    """Describe a job in one line."""
    end = f" ({job.exit_code})" if job.exit_code is not None else ""
    what = job.description or job.command
    return f"{job.id}  {job.state.value}{end}  {' '.join(what.split())[:120]}"


def job_data(job: Job) -> dict[str, Any]:
    """Return a job as data for programs."""
    return {
        "id": job.id,
        "status": job.state.value,
        "command": job.command,
        "description": job.description,
        "is_completed": job.state is not JobState.RUNNING,
        "exit_code": job.exit_code,
        "pid": job.pid,
        "call_id": job.call_id,
        "session": job.session,
        "kept": job.kept,
    }
