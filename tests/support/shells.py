"""A shell for tools under test: commands are judged and run by the test itself."""

from types import SimpleNamespace

from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects
from handrail.core.context import WorkingDirectory
from handrail.core.lazy import Lazy
from handrail.core.ports.processes import (
    CapturedStream,
    Confinement,
    Job,
    JobOutput,
    JobState,
    ProcessResult,
)
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.services import Shell


def captured(data: bytes) -> CapturedStream:
    return CapturedStream(data, b"", len(data))


class Recorded:
    """Processes that note what they are asked and answer what the test gave them."""

    def __init__(self, ended=None, jobs=(), output=b""):
        self.ended = ended or ProcessResult(0, captured(b"out\n"), captured(b""), 0.1)
        self.known = list(jobs)
        self.said = output
        self.launched = []
        self.requests = []

    async def run(self, launch, on_output=None):
        self.launched.append(launch)
        return self.ended

    async def start(self, launch, request):
        self.launched.append(launch)
        self.requests.append(request)
        return job("7", session=request.session)

    async def jobs(self):
        return self.known

    async def output(self, job_id, offset, wait_s, limit):
        self.requests.append((job_id, offset, wait_s, limit))
        data = self.said[offset : offset + limit]
        return JobOutput(self.known[0], data, offset + len(data))

    def check_roots(self):
        pass

    async def kill(self, job_id):
        if self.known[0].state is not JobState.RUNNING:
            raise ProblemRaised("conflict", f"job {job_id} is over")
        return self.known[0]._replace(state=JobState.KILLED)


def job(number, *, session="s", state=JobState.RUNNING, **more) -> Job:
    return Job(number, session, "c", "sleep 1", "", 0.0, state, 1234, **more)


def shell(
    processes, *, safety_class=CommandClass.SAFE, effects=None, moves=False, **more
) -> Lazy[Shell]:
    analysis = CommandAnalysis(safety_class, (), effects or CommandEffects())
    made = Shell(
        analyzer=SimpleNamespace(analyze=lambda command, *, cwd, env: analysis._replace(cwd=cwd)),
        processes=processes,
        sandbox=SimpleNamespace(why_failed=lambda ended, confinement: None),
        working_directory=WorkingDirectory("/w", moves=moves),
        environment={"PATH": "/usr/bin"},
        tame={"GIT_PAGER": "cat"},
        program="/bin/bash",
        find=lambda name: None if name == "node" else f"/usr/bin/{name}",
        **more,
    )
    return Lazy(lambda: made)


def context(session="s", *, confined=True, places=None):
    return SimpleNamespace(
        call_id="c",
        session=SimpleNamespace(
            id=session,
            values={},
            roots=("/w",),
            artifacts=SimpleNamespace(save=lambda name, data: "kept"),
        ),
        places=places or {},
        confinement=Confinement(("/w",)) if confined else None,
        on_output=None,
    )
