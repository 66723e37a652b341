"""`handrail gc`: delete old payloads, file copies and temporary files; rows and hashes stay."""

from __future__ import annotations

import time
from argparse import ArgumentTypeError, Namespace
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode, problem_exit_code
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.cli.workspace import Workspace
    from handrail.store.records.purge import PurgeReport

_DAY_S: Final = 86_400
# Limits of one automatic run.
_AUTO_CALLS: Final = 1_000
_AUTO_CONVERSATIONS: Final = 20
_AUTO_WAIT_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class FreedSpace:
    """What was deleted, or would be; the fields are the `--json` output."""

    payloads: int
    payload_bytes: int
    texts: int
    text_bytes: int
    content_bytes: int
    file_bytes: int
    older_than_days: float
    dry_run: bool
    erased: bool  # False: another process still reads the old data
    quarantined: int = 0
    quarantine_bytes: int = 0
    jobs: int = 0
    job_bytes: int = 0
    temporary_bytes: int = 0
    letters: int = 0
    copy_bytes: int = 0
    conversations: int = 0
    conversations_older_than_days: float = 0


class Retention(NamedTuple):
    """How many days data is kept: of calls, and conversations."""

    days: float
    conversation_days: float


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "gc")
    parser.add_argument(
        "--older-than",
        metavar="DAYS",
        type=_parse_days,
        help="minimum age in days; 0 deletes everything that is not in use (default: the settings"
        " keep_days and, for conversations, keep_conversations_days)",
    )
    parser.add_argument("--all", action="store_true", help="in all workspaces of this user")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Delete old data and print how much."""
    from handrail.cli.workspace import find_workspace, load_settings, refuse_session

    refuse_session(options, "it deletes old data of all sessions")
    days = options.older_than
    if days is None:
        settings = load_settings(options)
        retention = Retention(settings.keep_days, settings.keep_conversations_days)
    else:
        retention = Retention(days, days)
    if options.all:
        return _run_all(options, retention)
    freed = collect_garbage(find_workspace(options), retention, dry_run=bool(options.dry_run))
    if options.json:
        output.print_json(asdict(freed))
    else:
        print_freed(freed)
    return 0


def _run_all(options: Namespace, retention: Retention) -> int:
    """Delete old data of every workspace; return 6 if one record cannot be used."""
    from handrail.cli.render.screen import one_line

    if options.store is not None:
        raise messages.ALL_WITH_STORE.error()
    code = ExitCode.DONE
    for place in _all_workspaces():
        name = place.root.name
        if not options.json:
            output.print_text(f"{one_line(name)}:")
        try:
            freed = collect_garbage(place, retention, dry_run=bool(options.dry_run))
        except ProblemRaised as raised:
            output.print_problem(raised.problem, as_json=options.json)
            code = problem_exit_code(raised.problem)
            continue
        if options.json:
            output.print_json({"state": str(place.root), **asdict(freed)})
        else:
            print_freed(freed)
    return code


def _all_workspaces() -> list[Workspace]:
    """Return every workspace with a record in the state directory of the user.

    `root` is the state directory of each: its workspace may no longer exist.
    """
    from handrail.cli.workspace import Workspace
    from handrail.host.state.directories import state_home
    from handrail.host.state.state_paths import StatePaths

    stores = sorted(state_home().glob("*/store.db"))
    return [Workspace(store.parent, StatePaths(str(store), store.parent)) for store in stores]


def collect_automatically(options: Namespace) -> None:
    """Delete up to `_AUTO_CALLS` old payloads, and old temporary files, if `auto_gc` is set.

    Waits for no other process, and reports nothing: the next day tries again.
    """
    from handrail.cli.workspace import find_workspace, load_settings

    try:
        place, settings = find_workspace(options), load_settings(options)
        if settings.auto_gc and place.recorded:
            _collect_some(place, _time_before(settings.keep_days))
            _delete_some_conversations(place, _time_before(settings.keep_conversations_days))
    except (ProblemRaised, OSError):
        return


def _delete_some_conversations(place: Workspace, before_ns: int) -> None:
    from handrail.cli.commands.record.conversation_purge import (
        count_old_conversations,
        delete_old_conversations,
    )

    if count_old_conversations(place, before_ns):
        delete_old_conversations(place, before_ns, most=_AUTO_CONVERSATIONS, wait_s=_AUTO_WAIT_S)


def _time_before(days: float) -> int:
    """Return the time this many days ago."""
    return time.time_ns() - int(days * _DAY_S * 1e9)


def _collect_some(place: Workspace, before_ns: int) -> None:
    from handrail.cli.workspace import open_record
    from handrail.host.state.artifacts import DirectoryArtifacts
    from handrail.store.records.purge import count_payloads, limit_purge, purge_payloads

    with open_record(place) as db:
        limit_ns = limit_purge(db, before_ns, _AUTO_CALLS)
        count, _ = count_payloads(db, before_ns=limit_ns)
    if count:
        purge_payloads(place.home.store, before_ns=limit_ns, busy_timeout_s=_AUTO_WAIT_S)
    if place.home.oversized is not None and place.home.oversized.is_dir():
        DirectoryArtifacts(place.home.oversized).sweep((time.time_ns() - before_ns) / 1e9)
    _sweep_leftovers(place, before_ns, dry_run=False)


def collect_garbage(place: Workspace, retention: Retention, *, dry_run: bool) -> FreedSpace:
    """Delete data older than `retention`; with `dry_run` only measure it."""
    from handrail.host.state.artifacts import DirectoryArtifacts
    from handrail.store.records.purge import purge_payloads

    before_ns = _time_before(retention.days)
    texts = _old_text_sizes(place.home.oversized, before_ns)
    payloads, payload_bytes = _count_payloads(place, before_ns)
    file_bytes, erased = 0, True
    if not dry_run and payloads:
        purged = purge_payloads(place.home.store, before_ns=before_ns)
        file_bytes, erased = purged.before_bytes - purged.after_bytes, purged.erased
    if not dry_run and texts:
        DirectoryArtifacts(place.home.oversized).sweep(retention.days * _DAY_S)
    conversations, more = _delete_conversations(place, retention, dry_run=dry_run)
    if more is not None:
        file_bytes += more.before_bytes - more.after_bytes
        erased = erased and more.erased
    contents = free_contents(place, before_ns, dry_run=dry_run)
    left = _sweep_leftovers(place, before_ns, dry_run=dry_run)
    letters = _purge_failed_calls(place, dry_run=dry_run)
    freed = FreedSpace(
        payloads,
        payload_bytes,
        len(texts),
        sum(texts),
        contents,
        file_bytes,
        retention.days,
        dry_run,
        erased,
        *left,
    )
    copies = _trim_copies(place, before_ns, dry_run=dry_run)
    return replace(
        freed,
        letters=letters,
        copy_bytes=copies,
        conversations=conversations,
        conversations_older_than_days=retention.conversation_days,
    )


def _delete_conversations(
    place: Workspace, retention: Retention, *, dry_run: bool
) -> tuple[int, PurgeReport | None]:
    """Delete old conversations; return how many, and the effect on the store."""
    from handrail.cli.commands.record.conversation_purge import (
        count_old_conversations,
        delete_old_conversations,
    )

    if not place.recorded:
        return 0, None
    before_ns = _time_before(retention.conversation_days)
    count = count_old_conversations(place, before_ns)
    if dry_run or not count:
        return count, None
    purged = delete_old_conversations(place, before_ns)
    return len(purged.chosen), purged.report


def _purge_failed_calls(place: Workspace, *, dry_run: bool) -> int:
    """Delete closed failed calls after seven days, independent of --older-than."""
    from handrail.cli.workspace import open_record
    from handrail.store.records.failed_calls import count_expired, purge_failed_calls

    if not place.recorded:
        return 0
    with open_record(place) as db:
        over = count_expired(db, now_ns=time.time_ns())
    return (
        over if dry_run or not over else purge_failed_calls(place.home.store, now_ns=time.time_ns())
    )


def _trim_copies(place: Workspace, before_ns: int, *, dry_run: bool) -> int:
    """Delete unused copies for undoing commands; kept while recovery may need them."""
    from handrail.cli.workspace import open_record
    from handrail.host.snapshots.store_dir import remove_unused_stores
    from handrail.store.records.traces import running_owners

    if place.home.directory is None or not place.recorded:
        return 0
    with open_record(place) as db:
        if running_owners(db):
            return 0
    return remove_unused_stores(place.home.directory / "shadow", before_ns, dry_run=dry_run)


def _sweep_leftovers(place: Workspace, before_ns: int, *, dry_run: bool) -> tuple[int, ...]:
    """Delete quarantined files, ended jobs, temporary files and files of sandbox probes."""
    from handrail.host.sandbox.probe.stale_probes import remove_stale_probes
    from handrail.host.state.state_gc import collect_garbage

    if not dry_run:
        remove_stale_probes()
    if place.home.directory is None or not place.home.directory.is_dir():
        return ()
    swept = collect_garbage(place.home.directory, before_ns, dry_run=dry_run)
    return *swept["quarantine"], *swept["jobs"], swept["tmp"].bytes


def free_contents(place: Workspace, before_ns: int = 0, *, dry_run: bool) -> int:
    """Delete file contents that no recorded call references, and pack the others.

    A dry run counts calls as deleted if their payloads would be deleted.
    """
    from handrail.cli.workspace import open_record
    from handrail.host.state.blobs import DirectoryBlobs
    from handrail.host.state.identities import may_still_run
    from handrail.store.records.purge import exclusive_access
    from handrail.store.records.traces import promised_contents, running_owners

    if place.home.blobs is None or not place.recorded:
        return 0
    blobs = DirectoryBlobs(place.home.blobs)
    if dry_run:
        with open_record(place) as db:
            return blobs.could_free(promised_contents(db, dropped_before_ns=before_ns))
    # Stop writers: a command stores contents before it records a reference to them.
    with exclusive_access(place.home.store) as db:
        if any(may_still_run(owner) for owner in running_owners(db)):
            return 0
        freed = blobs.drop_all_but(promised_contents(db))
    return freed + blobs.pack()


def print_freed(freed: FreedSpace) -> None:
    """Print what was deleted."""
    from handrail.cli.render.screen import count_noun, format_size

    verb = "would delete" if freed.dry_run else "deleted"
    age = f"{freed.older_than_days:g} days"
    commands = freed.quarantined + freed.jobs + freed.temporary_bytes
    if freed.letters:
        output.print_text(f"{verb} {count_noun(freed.letters, 'closed failed call')}")
    if freed.conversations:
        older = f"older than {freed.conversations_older_than_days:g} days"
        output.print_text(f"{verb} {count_noun(freed.conversations, 'conversation')} {older}")
    if freed.copy_bytes:
        output.print_text(f"{verb} {format_size(freed.copy_bytes)} of unused copies for undo")
    dropped = freed.payloads or freed.texts or freed.content_bytes or commands or freed.copy_bytes
    if not dropped:
        if not freed.conversations:
            output.print_text(f"nothing is older than {age}")
        return
    output.print_text(
        f"{verb} {count_noun(freed.payloads, 'payload')} ({format_size(freed.payload_bytes)}) and "
        f"{count_noun(freed.texts, 'oversized text')} ({format_size(freed.text_bytes)}) older than {age}"
    )
    if commands:
        output.print_text(
            f"{verb} {count_noun(freed.quarantined, 'quarantined file')} "
            f"({format_size(freed.quarantine_bytes)}), {count_noun(freed.jobs, 'ended job')} "
            f"({format_size(freed.job_bytes)}), {format_size(freed.temporary_bytes)} of temporary files"
        )
    if freed.content_bytes > 0:
        would = "would use" if freed.dry_run else "use"
        output.print_text(f"stored file contents {would} {format_size(freed.content_bytes)} less")
    if freed.file_bytes > 0:
        output.print_text(
            f"the store is {format_size(freed.file_bytes)} smaller; its hash chain is intact"
        )
    if not freed.erased:
        output.print_text(
            "the deleted data stays in the files of the store until no process reads it any more;"
            " in PostgreSQL until the server has overwritten it"
        )


def _count_payloads(place: Workspace, before_ns: int) -> tuple[int, int]:
    """Return the number of payloads that would be deleted, and their bytes."""
    from handrail.cli.workspace import open_record
    from handrail.store.records.purge import count_payloads

    if not place.recorded:
        return 0, 0
    with open_record(place) as db:
        return count_payloads(db, before_ns=before_ns)


def _old_text_sizes(directory: Path | None, before_ns: int) -> list[int]:
    """Return the sizes of stored texts that are older."""
    if directory is None or not directory.is_dir():
        return []
    stats = [file.stat() for file in directory.iterdir() if file.is_file()]
    return [stat.st_size for stat in stats if stat.st_mtime_ns < before_ns]


def _parse_days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1
    if not 0 <= days < 1e6:
        raise ArgumentTypeError(f"{text!r} is not a number of days")
    return days
