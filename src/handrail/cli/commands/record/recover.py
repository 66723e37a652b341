"""`handrail recover`: make whole what a crash has left. Opening a workspace does it as well."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.cli.render.recovery import EarlierRecovery
    from handrail.core.processes import Job
    from handrail.history.recovery.unfinished_plans import RecoveredCall
import os


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
        _relocate(options)
    found, earlier, jobs = asyncio.run(_recover(options))
    if options.json:
        for one in found:
            output.print_json({**asdict(one), "earlier": False})
        for before in earlier:
            output.print_json({**asdict(before.recovered), "earlier": True})
        return 0
    _print_recovered(found)
    _print_earlier(earlier)
    _print_jobs(jobs)
    return 0


def _relocate(options: Namespace) -> None:
    from handrail.cli.workspace import workspace_directory

    if options.store is not None:
        raise ProblemRaised(
            "invalid_arguments",
            "a store that is named needs no --moved-from",
            hint="leave it out: the folder is recognised wherever it lies",
        )
    relocate_state(Path(options.moved_from).expanduser(), workspace_directory(options))
    if not options.json:
        output.print_line(f"the record of {options.moved_from} belongs to this workspace now")


def _print_recovered(found: Sequence[RecoveredCall]) -> None:
    from handrail.cli.render.recovery import recovery_hints
    from handrail.cli.render.screen import one_line

    if not found:
        output.print_line("nothing was left unfinished")
    for one in found:
        output.print_line(
            one_line(f"{one.call_id}  {one.tool}  {one.status}: {one.text}{recovery_hints(one)}")
        )


def _print_earlier(earlier: Sequence[EarlierRecovery]) -> None:
    from handrail.cli.render.recovery import recovery_hints
    from handrail.cli.render.screen import one_line

    if earlier:
        output.print_line("found by an earlier opening, within a day:")
    for one, stands in earlier:
        how = recovery_hints(one, stands=stands)
        output.print_line(one_line(f"{one.call_id}  {one.tool}  {one.status}: {one.text}{how}"))


def _print_jobs(jobs: Sequence[Job]) -> None:
    from handrail.cli.render.screen import one_line

    for job in jobs:
        known = "still runs" if job.state == "running" else "is lost: nobody saw how it ended"
        output.print_line(one_line(f"job {job.id} {known}: {job.command}"))
    if jobs:
        output.print_line("`handrail jobs` shows what jobs wrote, and ends them")


async def _recover(
    options: Namespace,
) -> tuple[Sequence[RecoveredCall], Sequence[EarlierRecovery], Sequence[Job]]:
    from handrail.cli.render.recovery import recent_recoveries
    from handrail.cli.workspace import open_session, workspace_directory

    opening = open_session(options)
    # Told where it is asked for, not beside it.
    opening.hears = None
    async with opening as rt:
        jobs = [job for job in await rt.jobs.list() if job.state in ("running", "lost")]
        return rt.recovered, await recent_recoveries(rt, str(workspace_directory(options))), jobs


def relocate_state(old: Path, root: Path) -> Path:
    """Let the record of `old` be that of `root`; returns where it lies now.

    Raises `not_found` if nothing is recorded of it, `conflict` if this is another folder or
    has a record of its own.
    """
    from handrail.host.state.directories import state_home, workspace_name

    top = state_home()
    there, here = top / workspace_name(old), top / workspace_name(root)
    if there == here or not (there / "store.db").is_file():
        raise ProblemRaised(
            "not_found",
            f"nothing is recorded of a workspace at {str(old)!r}",
            hint="give the path at which it was last opened",
        )
    _check_same_folder(there / "store.db", os.path.realpath(old), root)
    _check_no_record(here / "store.db", root, there / "store.db")
    if here.exists():
        here.rename(here.with_name(f"{here.name}.empty-{os.urandom(4).hex()}"))
    there.rename(here)
    return here


def _check_same_folder(store: Path, old: str, root: Path) -> None:
    from handrail.history.workspace_match import workspace_folder
    from handrail.host.state.folder_identity import folder_identity
    from handrail.store.records.traces import list_openings
    from handrail.store.sqlite.connection import open_read_only

    db = open_read_only(str(store))
    try:
        known = [workspace_folder(one) for one in list_openings(db)]
    finally:
        db.close()
    identity = next((one.identity for one in reversed(known) if one.path == old), "")
    if not identity or identity != folder_identity(str(root)):
        raise ProblemRaised(
            "conflict",
            f"{str(root)!r} is not the folder that was recorded at {old!r}",
            hint=f"it is a copy, or made anew; `--store {store}` reads that record",
        )


def _check_no_record(store: Path, root: Path, old: Path) -> None:
    from handrail.store.sqlite.connection import open_read_only

    if not store.is_file():
        return
    db = open_read_only(str(store))
    try:
        used = db.execute("SELECT 1 FROM rows LIMIT 1").fetchone()
    finally:
        db.close()
    if used:
        raise ProblemRaised(
            "conflict",
            f"{str(root)!r} has a record of its own already",
            hint=f"two records cannot become one; `--store {old}` uses the old one",
        )
