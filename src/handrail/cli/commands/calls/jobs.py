"""`handrail jobs`: list background jobs, show their output, stop them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.core.ports.processes import Job, Processes

_PART: Final = 1 << 20
_ROUND_S: Final = 0.2


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "jobs")
    parser.add_argument(
        "action", nargs="?", choices=("list", "output", "kill"), default="list", metavar="ACTION",
        help="list (default), output or kill",
    )  # fmt: skip
    parser.add_argument("job", nargs="?", metavar="ID", help="ID of the job")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="output: print new output until the job ends"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run the action on the jobs of all sessions."""
    import asyncio

    from handrail.assembly.commands import open_background_jobs
    from handrail.cli.workspace import find_workspace, refuse_session

    refuse_session(options, "it lists the jobs of all sessions")
    if options.action != "list" and options.job is None:
        raise messages.JOB_ID_MISSING.error(action=options.action, field="job")
    return asyncio.run(_act(options, open_background_jobs(find_workspace(options).home)))


async def _act(options: Namespace, processes: Processes) -> int:
    if options.action == "output":
        await _show(processes, options)
    elif options.action == "kill":
        job = await processes.kill(options.job)
        _print_jobs([job], options, f"stopped job {job.id}")
    else:
        _print_jobs(await processes.jobs(), options, None)
    return 0


async def _show(processes: Processes, options: Namespace) -> None:
    """Print the output so far; with --follow, until the job ends."""
    from codecs import getincrementaldecoder

    from handrail.core.ports.processes import JobState

    # A character or line may be split between two chunks.
    decoder, offset, broken = getincrementaldecoder("utf-8")("replace"), 0, False
    while True:
        chunk = await processes.output(options.job, offset, 0, _PART)
        running = options.follow and chunk.job.state is JobState.RUNNING
        text = decoder.decode(chunk.data, final=not running and not chunk.data)
        if options.json:
            if text or not running:
                part = {"output": text, "offset": offset, "missing": chunk.missing}
                output.print_json({**_job_row(chunk.job), **part})
        else:
            if chunk.missing:
                output.warn(f"{chunk.missing} bytes of older output were discarded")
            output.print_untrusted(text)
            broken = not text.endswith("\n") if text else broken
        offset = chunk.next_offset
        if not chunk.data:
            if not running:
                break
            await processes.output(options.job, offset, _ROUND_S, 0)
    if broken:
        output.print_line()


def _print_jobs(jobs: Sequence[Job], options: Namespace, message: str | None) -> None:
    from handrail.cli.render.screen import one_line, table, truncate

    if options.json:
        for job in jobs:
            output.print_json(_job_row(job))
    elif message is not None:
        output.print_line(message)
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
    connections = [connection._asdict() for connection in job.connections]
    return {**job._asdict(), "state": job.state.value, "connections": connections}
