"""`handrail jobs`: what runs in the background here, what it says, and ending it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from handrail.cli import output
from handrail.cli.parser import Parser, Subparsers, add_command

if TYPE_CHECKING:
    from handrail.core.processes import Job, Processes


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "jobs", "list background jobs, show their output, end them")
    parser.add_argument(
        "action", nargs="?", choices=("list", "output", "kill"), default="list", metavar="ACTION",
        help="list (default), output or kill",
    )  # fmt: skip
    parser.add_argument("job", nargs="?", metavar="ID", help="the number of the job")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Do it as the person: every job of the workspace can be named."""
    import asyncio

    from handrail.app_shell import jobs_of
    from handrail.cli.workspace import look_at, refuse_session
    from handrail.core.problems import ProblemRaised

    refuse_session(options, "jobs of all sessions are listed")
    if options.action != "list" and options.job is None:
        raise ProblemRaised(
            "invalid_arguments",
            f"`jobs {options.action}` needs the number of a job",
            hint="`handrail jobs` lists them",
            field="job",
        )
    return asyncio.run(_act(options, jobs_of(look_at(options).home)))


async def _act(options: Namespace, processes: Processes) -> int:
    if options.action == "output":
        await _show(processes, options)
    elif options.action == "kill":
        job = await processes.kill(options.job)
        _say([job], options, f"job {job.id} was ended")
    else:
        _say(await processes.jobs(), options, None)
    return 0


async def _show(processes: Processes, options: Namespace) -> None:
    offset = 0
    while True:
        found = await processes.output(options.job, offset, 0, 1 << 20)
        if options.json:
            text = found.data.decode("utf-8", "replace")
            output.say_json({**_plain(found.job), "output": text, "offset": offset})
        elif found.data:
            output.say(found.data.decode("utf-8", "replace").removesuffix("\n"))
        if found.next_offset == offset or not found.data:
            return
        offset = found.next_offset


def _say(jobs: Sequence[Job], options: Namespace, told: str | None) -> None:
    from handrail.cli.screen import cut, one_line, table

    if options.json:
        for job in jobs:
            output.say_json(_plain(job))
    elif told is not None:
        output.say(told)
    elif not jobs:
        output.say("no background jobs")
    else:
        rows = [
            (job.id, _state(job), one_line(job.session), cut(one_line(job.command), 60))
            for job in jobs
        ]
        for line in table(rows, ("job", "state", "session", "command")):
            output.say(line)


def _state(job: Job) -> str:
    return job.state.value if job.exit_code is None else f"{job.state.value} {job.exit_code}"


def _plain(job: Job) -> dict[str, object]:
    return {**job._asdict(), "state": job.state.value}
