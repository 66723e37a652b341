"""Runs programs for a runtime through runners; implements `core.ports.processes.Processes`.

Everything runs on the runtime's event loop; no threads are used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import anyio

from handrail.core.ports.processes import (
    Job,
    JobOutput,
    JobRequest,
    Launch,
    OnOutput,
    ProcessResult,
)
from handrail.host.files.root_identity import RootHandle, check_in_place
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.channel import (
    ENDING_S,
    SupervisedChannel,
    decode_result,
    open_channel,
)
from handrail.host.supervisor.jobs import SupervisedJobs
from handrail.host.supervisor.runner_connection import RunnerConnection, RunnerPool, start_problem
from handrail.host.supervisor.wire import FrameKind

# Two such streams leave room for others in the 64 MB quota of all artifacts.
SPILL_BYTES: Final = 16 << 20


class SupervisedProcesses:
    """Starts programs through a supervisor process, which is started with the first program.

    `recipe_of` returns how a program is confined. `directory` is the workspace's state directory,
    with jobs in `jobs/`; if it is None, nothing outlives the runtime. `spill` is the directory for
    the full text of long output, up to `spill_bytes` per stream; if it is None, a directory that is
    removed with the runtime. `memory_mb` limits the address space of every process; 0 means no
    limit. `roots` are the directories that programs start in: a program is refused if one of them
    was moved or replaced.
    """

    def __init__(
        self,
        recipe_of: Callable[[Launch], Recipe],
        directory: Path | None,
        *,
        spill: Path | None = None,
        spill_bytes: int = SPILL_BYTES,
        memory_mb: int = 0,
        roots: Sequence[RootHandle] = (),
    ) -> None:
        self._roots = tuple(roots)
        self._recipe_of = recipe_of
        self._directory = directory
        self._spill = spill
        self._spill_bytes = spill_bytes
        self._runners = RunnerPool(
            memory_mb=memory_mb,
            needs_scratch=directory is None or spill is None,
            directory=directory,
            roots=self._roots,
        )
        self._jobs = SupervisedJobs(self._runners, self._jobs_directory)
        self._channels: set[SupervisedChannel] = set()

    def check_roots(self) -> None:
        """Raise `outside_workspace` if a root was moved or replaced since it was opened."""
        check_in_place(self._roots)

    async def run(self, launch: Launch, on_output: OnOutput | None = None) -> ProcessResult:
        """Run a program to its end. Raises `unavailable` if it cannot start or is lost."""
        recipe = self._make_recipe(launch)
        header = {
            "timeout_s": launch.timeout_s,
            "live": on_output is not None,
            "reports": launch.reports_directory,
            "spill": (self.spill_directory(), self._spill_bytes) if launch.spills else None,
            "stdin": len(launch.stdin),
        }
        connection = await self._runners.ask(FrameKind.RUN, recipe, header, launch.stdin, on_output)
        try:
            await self._wait(connection, launch.timeout_s)
        finally:
            self._runners.give_back(connection)
        if connection.answer is None:
            raise self._runners.lost()
        if connection.answer.kind is FrameKind.FAILED:
            raise start_problem(connection.answer, launch.argv[0], launch.cwd)
        return decode_result(connection.answer)

    async def open(self, launch: Launch) -> SupervisedChannel:
        """Start a program to exchange messages with. Raises `unavailable` if it cannot start."""
        recipe = self._make_recipe(launch)
        channel = await open_channel(self._runners, launch, recipe, self._channels.discard)
        self._channels.add(channel)
        return channel

    async def start(self, launch: Launch, request: JobRequest) -> Job:
        """Start a background job. Raises `unavailable`."""
        if self._directory is None:
            request = request._replace(keep=False)
        return await self._jobs.start(launch, self._make_recipe(launch), request)

    async def jobs(self) -> Sequence[Job]:
        """All jobs of this workspace, oldest first."""
        return self._jobs.all()

    async def output(self, job_id: str, offset: int, wait_s: float, limit: int) -> JobOutput:
        """Return the output of a job from `offset` on. Raises `not_found`."""
        return await self._jobs.output(job_id, offset, wait_s, limit)

    async def write(self, job_id: str, data: bytes, *, eof: bool) -> int:
        """Send text to a job. Raises `not_found` or `conflict`."""
        return await self._jobs.write(job_id, data, eof=eof)

    async def kill(self, job_id: str) -> Job:
        """End a job and everything it started. Raises `not_found` or `conflict`."""
        return await self._jobs.kill(job_id)

    async def aclose(self) -> None:
        """End every program except kept jobs, then the helper processes."""
        for channel in list(self._channels):
            channel.close_handles()
        await self._runners.aclose(kept=self._jobs.kept)

    def _make_recipe(self, launch: Launch) -> Recipe:
        # The supervisor of the first program starts while its recipe is made.
        self._runners.start()
        return self._recipe_of(launch)

    async def _wait(self, connection: RunnerConnection, timeout_s: float | None) -> None:
        """Wait for a runner's answer; a cancelled caller waits for the program's end too."""
        guard = None
        if timeout_s is not None:
            # The runner enforces the deadline; this timer helps only if the runner is stopped.
            loop = asyncio.get_running_loop()
            guard = loop.call_later(timeout_s + ENDING_S, connection.abandon)
        try:
            await connection.wait_answer()
        finally:
            if guard is not None:
                guard.cancel()
            if connection.answer is None and not connection.closed:
                with anyio.CancelScope(shield=True), anyio.move_on_after(ENDING_S):
                    connection.end()
                    await connection.wait_answer()
                if connection.answer is None:
                    connection.abandon()

    def spill_directory(self) -> str:
        """The directory for the full text of long output."""
        return self._runners.scratch() if self._spill is None else str(self._spill)

    def _jobs_directory(self) -> Path:
        return (self._directory or Path(self._runners.scratch())) / "jobs"
