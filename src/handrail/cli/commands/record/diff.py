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
    parser = add_command(subparsers, "diff", epilog=_EPILOG)
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--task", action="store_true", help="only the last task of `handrail run`")
    scope.add_argument("--turn", metavar="TURN", help="only one turn")
    parser.add_argument("--stat", action="store_true", help="list the files with their line counts")
    parser.add_argument(
        "--all", action="store_true", help="also files in caches, such as __pycache__"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the diffs, or one JSON object per file."""
    from handrail.cli.render.screen import TextStyle, count_noun, paint

    session, every = find_diffs(options, options.session, task=options.task, turn=options.turn)
    diffs = every if options.all else without_caches(every)
    if options.json:
        for diff in diffs:
            added, removed = count_lines(diff)
            counts = {"added": added, "removed": removed}
            output.print_json({"session": session, **diff._asdict(), **counts})
        return 0
    if session is not None and not every:
        turn = f"turn {options.turn} of " if options.turn not in (None, "last") else ""
        output.print_line(f"no changes in {turn}session {session}; --session NAME: another one")
        return 0
    for line in diff_lines(diffs, stat=options.stat):
        output.print_line(line)
    if len(every) > len(diffs):
        left = count_noun(len(every) - len(diffs), "file")
        output.print_line(paint(f"left out: {left} in caches; --all shows them", TextStyle.FAINT))
    return 0


def without_caches(diffs: Sequence[FileDiff]) -> list[FileDiff]:
    """Return the files that are not in the cache of a tool."""
    return [diff for diff in diffs if not is_cache(diff.path)]


def find_diffs(
    options: Namespace, session: str | None, *, task: bool = False, turn: str | None = None
) -> tuple[str | None, list[FileDiff]]:
    """Return the session (by default the one that changed something last) and its diffs. Raises
    `invalid_arguments` for a turn that is not a number and for an unknown session, `not_found` for
    a turn that the session does not have.
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
        name, rows = talk or traces[0].session, {trace.row for trace in traces}
        keep = _trace_filter(db, traces, name, task=task, turn=turn)
        with open_diffs(options, place, db) as diffs:
            net = diffs.net_diffs(lambda trace: trace.row in rows and keep(trace))
    # A folder is shown only if no file in it is.
    above = {str(parent) for diff in net for parent in PurePosixPath(diff.path).parents}
    return name, [diff for diff in net if diff.path not in above]


def diff_lines(diffs: Sequence[FileDiff], *, stat: bool = False) -> Iterator[str]:
    """Yield the diffs as lines for a terminal."""
    from handrail.cli.render.screen import colour_diff, count_noun, one_line

    if not diffs:
        yield "no changes"
        return
    for diff in diffs:
        added, removed = count_lines(diff)
        if stat:
            yield f"{diff.operation:<8}  +{added} -{removed}  {one_line(diff.path)}"
        elif diff.diff is None:
            yield f"{one_line(diff.path)}: {diff.operation}; {diff.reason}"
        else:
            yield from colour_diff(diff.diff.removesuffix("\n"))
    if stat:
        yield count_noun(len(diffs), "file")


def count_lines(diff: FileDiff) -> tuple[int, int]:
    """Return how many lines were added and removed."""
    # The names of the file are above the first hunk; below it, `--- x` is the removed line `-- x`.
    _, hunks, below = f"\n{diff.diff or ''}".partition("\n@@")
    lines = below.split("\n") if hunks else []
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


def _newest_session_traces(traces: Sequence[Trace]) -> list[Trace]:
    from handrail.history.undo.recorded_changes import file_changes, requested_by_user

    changing = [trace for trace in traces if file_changes(trace) and not requested_by_user(trace)]
    return [trace for trace in traces if changing and trace.session == changing[0].session]


def _trace_filter(
    db: SqlConnection, traces: Sequence[Trace], session: str, *, task: bool, turn: str | None
) -> Callable[[Trace], bool]:
    from handrail.cli.workspace import check_turn
    from handrail.store.records.conversations import list_conversations

    if task:
        known = {summary.session: summary for summary in list_conversations(db)}
        if session not in known:
            raise messages.NO_SUCH_SESSION.error(session=session, field="session")
        began_ns = known[session].at_ns
        return lambda trace: trace.at_ns >= began_ns
    if turn is None:
        return lambda _: True
    if turn != "last" and not turn.isdecimal():
        raise messages.NOT_A_TURN.error(turn=turn, field="turn")
    number = traces[0].turn if turn == "last" else int(turn)
    check_turn(db, session, number, [trace.turn for trace in traces])
    return lambda trace: trace.turn == number
