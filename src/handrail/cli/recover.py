"""`handrail recover`: make whole what a crash has left. Opening a workspace does it as well."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.cli import output
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.cli.recovered import Earlier
    from handrail.core.processes import Job
    from handrail.history.recovery import Recovered


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "recover", "make whole what a crash has left")
    parser.add_argument(
        "--moved-from",
        metavar="DIR",
        help="the workspace was moved from there: take its record along first",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Recover and say what was found."""
    import asyncio

    if options.dry_run:
        raise ProblemRaised(
            "invalid_arguments",
            "recover has no dry run: opening the workspace already makes it whole",
            hint="leave out --dry-run",
        )

    if options.moved_from is not None:
        _take_along(options)
    found, earlier, jobs = asyncio.run(_recover(options))
    if options.json:
        for one in found:
            output.say_json({**asdict(one), "earlier": False})
        for before in earlier:
            output.say_json({**asdict(before.recovered), "earlier": True})
        return 0
    _tell(found)
    _tell_earlier(earlier)
    _tell_jobs(jobs)
    return 0


def _take_along(options: Namespace) -> None:
    from handrail.cli.moved import take_along
    from handrail.cli.workspace import directory_of

    if options.store is not None:
        raise ProblemRaised(
            "invalid_arguments",
            "a store that is named needs no --moved-from",
            hint="leave it out: the folder is recognised wherever it lies",
        )
    take_along(Path(options.moved_from).expanduser(), directory_of(options))
    if not options.json:
        output.say(f"the record of {options.moved_from} belongs to this workspace now")


def _tell(found: Sequence[Recovered]) -> None:
    from handrail.cli.recovered import ways
    from handrail.cli.screen import one_line

    if not found:
        output.say("nothing was left unfinished")
    for one in found:
        output.say(one_line(f"{one.call_id}  {one.tool}  {one.status}: {one.text}{ways(one)}"))


def _tell_earlier(earlier: Sequence[Earlier]) -> None:
    from handrail.cli.recovered import ways
    from handrail.cli.screen import one_line

    if earlier:
        output.say("found by an earlier opening, within a day:")
    for one, stands in earlier:
        how = ways(one, stands=stands)
        output.say(one_line(f"{one.call_id}  {one.tool}  {one.status}: {one.text}{how}"))


def _tell_jobs(jobs: Sequence[Job]) -> None:
    from handrail.cli.screen import one_line

    for job in jobs:
        known = "still runs" if job.state == "running" else "is lost: nobody saw how it ended"
        output.say(one_line(f"job {job.id} {known}: {job.command}"))
    if jobs:
        output.say("`handrail jobs` shows what jobs wrote, and ends them")


async def _recover(
    options: Namespace,
) -> tuple[Sequence[Recovered], Sequence[Earlier], Sequence[Job]]:
    from handrail.cli.recovered import settled_lately
    from handrail.cli.workspace import directory_of, opened

    opening = opened(options)
    # Told where it is asked for, not beside it.
    opening.hears = None
    async with opening as rt:
        jobs = [job for job in await rt.jobs.list() if job.state in ("running", "lost")]
        return rt.recovered, await settled_lately(rt, str(directory_of(options))), jobs
