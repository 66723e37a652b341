"""`handrail diff`: what a session, its last task or one of its turns changed, from the record."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.names.caches import is_cache

if TYPE_CHECKING:
    from handrail.core.ports.records import Trace
    from handrail.history.call_diffs import FileDiff
    from handrail.store.sql import SqlConnection

_EPILOG: Final = """\
Each file has one diff, from before its first change to after its last. Changes
that were undone are left out; Git is not used. TURN is a number as in
`handrail log`, or last."""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """Add the parser of this command."""
    parser = add_command(subparsers, "diff", epilog=_EPILOG)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--task", action="store_true", help="only the last task of `handrail run`")
    which.add_argument("--turn", metavar="TURN", help="only one turn")
    parser.add_argument("--stat", action="store_true", help="list the files with their line counts")
    parser.add_argument(
        "--all", action="store_true", help="also files in caches, such as __pycache__"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the diffs, or one JSON object per file."""
    from handrail.cli.render.screen import TextStyle, count_noun, paint

    session, every = find_diffs(options, options.session, task=options.task, turn=options.turn)
    found = every if options.all else without_caches(every)
    if options.json:
        for one in found:
            added, removed = count_lines(one)
            counts = {"added": added, "removed": removed}
            output.print_json({"session": session, **one._asdict(), **counts})
        return 0
    if session is not None and not every:
        turn = f"turn {options.turn} of " if options.turn not in (None, "last") else ""
        output.print_line(f"no changes in {turn}session {session}; --session NAME: another one")
        return 0
    for line in diff_lines(found, stat=options.stat):
        output.print_line(line)
    if len(every) > len(found):
        left = count_noun(len(every) - len(found), "file")
        output.print_line(paint(f"left out: {left} in caches; --all shows them", TextStyle.FAINT))
    return 0


def without_caches(found: Sequence[FileDiff]) -> list[FileDiff]:
    """The files that are not in the cache of a tool."""
    return [one for one in found if not is_cache(one.path)]


def find_diffs(
    options: Namespace, session: str | None, *, task: bool = False, turn: str | None = None
) -> tuple[str | None, list[FileDiff]]:
    """The session (by default the one that changed something last) and its diffs; raises
    `invalid_arguments` for a turn that is no number and for a session that does not exist, `not_found`
    for a turn that the session does not have.
    """
    from handrail.cli.commands.record.show import open_diffs
    from handrail.cli.workspace import (
        check_session,
        find_workspace,
        open_record,
        read_session_name,
    )
    from handrail.store.records.traces import TraceFilter, list_traces

    place = find_workspace(options)
    if not place.recorded and not options.store:
        if session is not None:
            raise messages.NO_SUCH_SESSION.error(session=session, field="session")
        return session, []
    with open_record(place) as db:
        check_session(db, session)
        only, talk = read_session_name(db, session)
        traces = list_traces(db, TraceFilter(session=only, conversation=talk))
        traces = traces if session or not traces else _newest_session_traces(traces)
        if not traces:
            return session, []
        name, rows = talk or traces[0].session, {one.row for one in traces}
        keep = _chosen(db, traces, name, task=task, turn=turn)
        with open_diffs(options, place, db) as diffs:
            found = diffs.net_diffs(lambda one: one.row in rows and keep(one))
    # A folder is shown where nothing in it is.
    above = {str(parent) for one in found for parent in PurePosixPath(one.path).parents}
    return name, [one for one in found if one.path not in above]


def diff_lines(found: Sequence[FileDiff], *, stat: bool = False) -> Iterator[str]:
    """The diffs as lines for a terminal."""
    from handrail.cli.render.screen import colour_diff, count_noun, one_line

    if not found:
        yield "no changes"
        return
    for one in found:
        added, removed = count_lines(one)
        if stat:
            yield f"{one.operation:<8}  +{added} -{removed}  {one_line(one.path)}"
        elif one.diff is None:
            yield f"{one_line(one.path)}: {one.operation}; {one.reason}"
        else:
            yield from colour_diff(one.diff.removesuffix("\n"))
    if stat:
        yield count_noun(len(found), "file")


def count_lines(one: FileDiff) -> tuple[int, int]:
    """How many lines were added and removed."""
    lines = [line for line in (one.diff or "").splitlines() if line[:3] not in ("+++", "---")]
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


def _newest_session_traces(traces: Sequence[Trace]) -> list[Trace]:
    from handrail.history.undo.recorded_changes import file_changes, requested_by_user

    changing = [one for one in traces if file_changes(one) and not requested_by_user(one)]
    return [one for one in traces if changing and one.session == changing[0].session]


def _chosen(
    db: SqlConnection, traces: Sequence[Trace], session: str, *, task: bool, turn: str | None
) -> Callable[[Trace], bool]:
    from handrail.cli.workspace import check_turn
    from handrail.store.records.conversations import list_conversations

    if task:
        known = {one.session: one for one in list_conversations(db)}
        if session not in known:
            raise messages.NO_SUCH_SESSION.error(session=session, field="session")
        began_ns = known[session].at_ns
        return lambda one: one.at_ns >= began_ns
    if turn is None:
        return lambda _: True
    if turn != "last" and not turn.isdecimal():
        raise messages.NOT_A_TURN.error(turn=turn, field="turn")
    number = traces[0].turn if turn == "last" else int(turn)
    check_turn(db, session, number, [one.turn for one in traces])
    return lambda one: one.turn == number
