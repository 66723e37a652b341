"""`handrail jobs`: what runs in the background here, what it says, and ending it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.core.processes import Job, Processes

_PART: Final = 1 << 20
_ROUND_S: Final = 0.2


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "jobs", "list background jobs, show their output, end them")
    parser.add_argument(
        "action", nargs="?", choices=("list", "output", "kill"), default="list", metavar="ACTION",
        help="list (default), output or kill",
    )  # fmt: skip
    parser.add_argument("job", nargs="?", metavar="ID", help="the number of the job")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="output: go on until the job is over"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Do it as the person: every job of the workspace can be named."""
    import asyncio

    from handrail.assembly.commands import jobs_of
    from handrail.cli.workspace import find_workspace, refuse_session
    from handrail.core.problems import ProblemRaised

    refuse_session(options, "jobs of all sessions are listed")
    if options.action != "list" and options.job is None:
        raise ProblemRaised(
            "invalid_arguments",
            f"`jobs {options.action}` needs the number of a job",
            hint="`handrail jobs` lists them",
            field="job",
        )
    return asyncio.run(_act(options, jobs_of(find_workspace(options).home)))


async def _act(options: Namespace, processes: Processes) -> int:
    if options.action == "output":
        await _show(processes, options)
    elif options.action == "kill":
        job = await processes.kill(options.job)
        _print_jobs([job], options, f"job {job.id} was ended")
    else:
        _print_jobs(await processes.jobs(), options, None)
    return 0


async def _show(processes: Processes, options: Namespace) -> None:
    """What it wrote so far; followed, what it writes until it is over as well."""
    from codecs import getincrementaldecoder

    from handrail.core.processes import JobState

    # A letter, or a line, may stand on both sides of where two parts meet.
    decoder, offset, broken = getincrementaldecoder("utf-8")("replace"), 0, False
    while True:
        found = await processes.output(options.job, offset, 0, _PART)
        running = options.follow and found.job.state is JobState.RUNNING
        text = decoder.decode(found.data, final=not running and not found.data)
        if options.json:
            if text or not running:
                told = {"output": text, "offset": offset, "missing": found.missing}
                output.print_json({**_job_row(found.job), **told})
        else:
            if found.missing:
                output.warn(f"{found.missing} bytes of the output are no longer kept")
            output.print_untrusted(text)
            broken = not text.endswith("\n") if text else broken
        offset = found.next_offset
        if not found.data:
            if not running:
                break
            await processes.output(options.job, offset, _ROUND_S, 0)
    if broken:
        output.print_line()


def _print_jobs(jobs: Sequence[Job], options: Namespace, told: str | None) -> None:
    from handrail.cli.render.screen import one_line, table, truncate

    if options.json:
        for job in jobs:
            output.print_json(_job_row(job))
    elif told is not None:
        output.print_line(told)
    elif not jobs:
        output.print_line("no background jobs")
    else:
        rows = [
            (job.id, _state(job), one_line(job.session), truncate(one_line(job.command), 60))
            for job in jobs
        ]
        for line in table(rows, ("job", "state", "session", "command")):
            output.print_line(line)


def _state(job: Job) -> str:
    return job.state.value if job.exit_code is None else f"{job.state.value} {job.exit_code}"


def _job_row(job: Job) -> dict[str, object]:
    return {**job._asdict(), "state": job.state.value}
