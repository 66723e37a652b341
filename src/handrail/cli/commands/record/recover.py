"""`handrail recover`: finish or roll back changes interrupted by a crash.

Every command that opens the workspace does this first.
"""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.cli.render.recovery import EarlierRecovery
    from handrail.core.ports.processes import Job
    from handrail.history.recovered_call import RecoveredCall


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "recover")
    parser.add_argument(
        "--moved-from",
        metavar="DIR",
        help="the workspace was moved from DIR: use its record",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Recover and print what was found."""
    import asyncio

    if options.dry_run:
        raise messages.NO_DRY_RECOVER.error()

    if options.moved_from is not None:
        _relocate(options)
    recovered, earlier, jobs = asyncio.run(_recover(options))
    if options.json:
        for call in recovered:
            output.print_json({**asdict(call), "earlier": False})
        for before in earlier:
            output.print_json({**asdict(before.recovered), "earlier": True})
        return 0
    _print_recovered(recovered)
    _print_earlier(earlier)
    _print_jobs(jobs)
    return 0


def _relocate(options: Namespace) -> None:
    from handrail.cli.workspace import workspace_directory

    if options.store is not None:
        raise messages.MOVED_FROM_WITH_STORE.error()
    relocate_state(Path(options.moved_from).expanduser(), workspace_directory(options))
    if not options.json:
        output.print_text(f"this workspace now uses the record of {options.moved_from}")


def _print_recovered(calls: Sequence[RecoveredCall]) -> None:
    from handrail.cli.render.recovery import recovery_hints
    from handrail.cli.render.screen import one_line

    if not calls:
        output.print_text("nothing to recover")
    for call in calls:
        output.print_text(
            one_line(
                f"{call.call_id}  {call.tool}  {call.status}: {call.text}{recovery_hints(call)}"
            )
        )


def _print_earlier(earlier: Sequence[EarlierRecovery]) -> None:
    from handrail.cli.render.recovery import recovery_hints
    from handrail.cli.render.screen import one_line

    if earlier:
        output.print_text("recovered earlier, within the last day:")
    for call, stands in earlier:
        how = recovery_hints(call, stands=stands)
        output.print_text(one_line(f"{call.call_id}  {call.tool}  {call.status}: {call.text}{how}"))


def _print_jobs(jobs: Sequence[Job]) -> None:
    from handrail.cli.render.screen import one_line

    for job in jobs:
        known = (
            "is still running" if job.state == "running" else "is lost: its exit was not observed"
        )
        output.print_text(one_line(f"job {job.id} {known}: {job.command}"))
    if jobs:
        output.print_text("`handrail jobs` shows the output of jobs and stops them")


async def _recover(
    options: Namespace,
) -> tuple[Sequence[RecoveredCall], Sequence[EarlierRecovery], Sequence[Job]]:
    from handrail.cli.render.recovery import recent_recoveries
    from handrail.cli.workspace import open_session, workspace_directory

    opening = open_session(options)
    # This command prints recovered calls itself.
    opening.on_recovered = None
    async with opening as rt:
        jobs = [job for job in await rt.jobs.list() if job.state in ("running", "lost")]
        return rt.recovered, await recent_recoveries(rt, str(workspace_directory(options))), jobs


def relocate_state(old: Path, root: Path) -> Path:
    """Move the state directory of `old` to that of `root`; return its new path.

    Raises `not_found` if `old` has no record, `conflict` if `root` is another folder or already
    has a record.
    """
    from handrail.host.state.directories import state_home, workspace_name

    top = state_home()
    old_state, new_state = top / workspace_name(old), top / workspace_name(root)
    if old_state == new_state or not (old_state / "store.db").is_file():
        raise messages.NOTHING_RECORDED.error(path=str(old))
    _check_same_folder(old_state / "store.db", os.path.realpath(old), root)
    _check_no_record(new_state / "store.db", root, old_state / "store.db")
    if new_state.exists():
        new_state.rename(new_state.with_name(f"{new_state.name}.empty-{os.urandom(4).hex()}"))
    old_state.rename(new_state)
    return new_state


def _check_same_folder(store: Path, old: str, root: Path) -> None:
    from handrail.history.workspace_match import workspace_folder
    from handrail.host.state.identities import folder_identity
    from handrail.store.records.traces import list_openings
    from handrail.store.sqlite.connection import open_read_only

    db = open_read_only(str(store))
    try:
        known = [workspace_folder(opening) for opening in list_openings(db)]
    finally:
        db.close()
    identity = next((opening.identity for opening in reversed(known) if opening.path == old), "")
    if not identity or identity != folder_identity(str(root)):
        raise messages.DIFFERENT_DIRECTORY.error(root=str(root), old=old, store=store)


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
        raise messages.RECORD_EXISTS.error(root=str(root), old=old)
