"""`handrail log`: recent calls, or the history of a file; opens no session."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command, parse_count
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.cli.workspace import Workspace
    from handrail.core.ports.records import CallRecord
    from handrail.store.sql import SqlConnection

_LAST: Final = "last"
_POLL_S: Final = 0.3
# Of the newest calls; more than end between two looks.
_MAX_FOLLOWED: Final = 200


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "log")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--path", metavar="FILE", help="list the changes of a file, or below a folder"
    )
    scope.add_argument(
        "--turn",
        metavar="TURN",
        type=_parse_turn,
        help="list the calls of one turn: last, number or session:number",
    )
    parser.add_argument("--agent", metavar="NAME", help="list only the calls of this agent")
    parser.add_argument(
        "-n",
        "--limit",
        metavar="N",
        type=parse_count,
        default=20,
        help="maximum number of rows (default: 20)",
    )
    scope.add_argument(
        "--follow", action="store_true", help="print calls as they end, until Ctrl-C"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the newest calls first, as a table or as JSON objects."""
    from handrail.cli.commands.record.file_log import print_file_history
    from handrail.cli.render.screen import one_line
    from handrail.cli.workspace import (
        check_session,
        check_turn,
        find_workspace,
        open_record,
        read_session_name,
    )
    from handrail.store.records.calls import list_calls

    place = find_workspace(options)
    if options.follow:
        return _follow(options, place)
    if not place.recorded and not options.store:
        if (name := _named_session(options)) is not None:
            raise messages.NO_SUCH_SESSION.error(session=name, field="session")
        if not options.json:
            output.print_line(f"no calls recorded in {one_line(place.root)}")
        return 0
    if options.path is not None:
        print_file_history(options, place)
        return 0
    with open_record(place) as db:
        name, number = _chosen_turn(db, options)
        check_session(db, name)
        session, talk = read_session_name(db, name)
        calls = list_calls(
            db, session, None, options.limit + 1, None, number, options.agent, conversation=talk
        )
        if name is not None and number is not None and not calls:
            newest = list_calls(db, session, None, 1, None, conversation=talk)
            check_turn(db, name, number, [call.turn for call in newest])
    if options.json:
        for call in calls[: options.limit]:
            output.print_json(call_json(call))
    else:
        print_calls(calls[: options.limit])
        if len(calls) > options.limit:
            output.print_text("there are older calls; --limit N shows more")
    return 0


def _follow(options: Namespace, place: Workspace) -> int:
    """Print the calls that end from now on, until the user interrupts."""
    import time

    from handrail.cli.workspace import open_record, read_session_name
    from handrail.store.changes import ChangeWatcher
    from handrail.store.records.calls import list_calls

    started_ns, last_state = time.time_ns(), tuple[int, ...]()
    watcher = ChangeWatcher(place.home.store)
    printed: set[tuple[str, str, int]] = set()
    try:
        while True:
            state = watcher.stamp()
            if state != last_state and place.recorded:
                last_state = state
                with open_record(place) as db:
                    session, talk = read_session_name(db, options.session)
                    calls = list_calls(db, session, None, _MAX_FOLLOWED, None, conversation=talk)
                _print_ended(calls, started_ns, printed, as_json=options.json)
            watcher.wait(_POLL_S)
    except KeyboardInterrupt:
        return 0
    finally:
        watcher.close()


def _print_ended(
    calls: Sequence[CallRecord],
    since_ns: int,
    printed: set[tuple[str, str, int]],
    *,
    as_json: bool,
) -> None:
    printed &= {(call.session, call.call_id, call.requested_ns) for call in calls}
    for call in reversed(calls):
        key = (call.session, call.call_id, call.requested_ns)
        if key in printed or call.completed_ns is None or call.completed_ns < since_ns:
            continue
        printed.add(key)
        if as_json:
            output.print_json(call_json(call))
        else:
            for line in _followed_lines(_cells(call)):
                output.print_line(line)
    sys.stdout.flush()


def _followed_lines(texts: tuple[str, ...]) -> Iterator[str]:
    """Yield one line for a call; on a narrow terminal, the time of day, tool and status come first, and
    the rest on a second line.
    """
    from handrail.cli.render.screen import is_narrow, terminal_width, truncate

    width = terminal_width()
    if not is_narrow():
        yield truncate("  ".join(texts), width)
        return
    at, call_id, turn, tool, status, arguments = texts
    yield truncate("  ".join((at.partition("T")[2], tool, status)), width)
    yield truncate("  ".join(("  ", call_id, turn, arguments)).rstrip(), width)


def call_json(call: CallRecord) -> dict[str, Any]:
    """Return a call as JSON, with its times in UTC."""
    from handrail.cli.render.screen import iso_utc

    completed_at = None if call.completed_ns is None else iso_utc(call.completed_ns)
    return {
        **call._asdict(),
        "requested_at": iso_utc(call.requested_ns),
        "completed_at": completed_at,
    }


def print_calls(calls: Sequence[CallRecord]) -> None:
    """Print the calls as a table, newest first."""
    from handrail.cli.render.screen import TextStyle, column_times, table

    if not calls:
        output.print_line("no calls")
        return
    times = column_times([call.requested_ns for call in calls])
    rows = [(at, *_cells(call)[1:]) for at, call in zip(times, calls, strict=True)]
    heads = ("TIME", "CALL", "TURN", "TOOL", "STATUS", "ARGUMENTS")
    styles = {
        "failed": TextStyle.BAD,
        "refused": TextStyle.CAUTION,
        "unfinished": TextStyle.CAUTION,
    }
    for line in table(rows, heads, styles):
        output.print_line(line)


def _cells(call: CallRecord) -> tuple[str, ...]:
    from handrail.cli.render.screen import format_time, one_line, truncate

    return (
        format_time(call.requested_ns),
        one_line(call.call_id),
        f"{truncate(one_line(call.session), 20)}:{call.turn}",
        one_line(call.tool),
        one_line(call.status),
        arguments_line(call),
    )


def arguments_line(call: CallRecord) -> str:
    """Return the arguments on one line, with the calls that were undone or redone."""
    from handrail.cli.render.screen import one_line, truncate

    arguments = call.requested.get("arguments")
    if not isinstance(arguments, dict):
        return ""
    return " ".join(
        # Sliced first: escaping a large value would be slow.
        f"{one_line(key)}={truncate(one_line(str(value)[:100]), 60)}"
        for key, value in {**arguments, **reverted_calls(call)}.items()
        if not (key == "redo" and call.redoes)
    )


def reverted_calls(call: CallRecord) -> dict[str, str]:
    """Return the calls that this call undid or redid, by `undid` or `redid`."""
    data = (call.intent or {}).get("data")
    if call.requested.get("tool") != "undo" or call.completed is None or not isinstance(data, dict):
        return {}
    if not call.completed.get("changes"):
        return {}
    name = "redid" if "redid" in data else "undid"
    return {name: ", ".join(map(str, data[name]))} if name in data else {}


def _chosen_turn(db: SqlConnection, options: Namespace) -> tuple[str | None, int | None]:
    """Return session and number of the turn to list; None means any."""
    from handrail.cli.workspace import read_session_name
    from handrail.store.records.calls import list_calls

    if options.turn == _LAST:
        session, talk = read_session_name(db, options.session)
        newest = list_calls(db, session, None, 1, None, conversation=talk)
        name = talk or (newest[0].session if newest else options.session)
        return name, newest[0].turn if newest else None
    return _named_session(options), (options.turn or (None, None))[1]


def _named_session(options: Namespace) -> str | None:
    """Return the session of --session or of --turn SESSION:NUMBER."""
    of_turn: str | None = None if options.turn in (None, _LAST) else options.turn[0]
    return options.session or of_turn


def _parse_turn(text: str) -> tuple[str | None, int] | str:
    if text == _LAST:
        return _LAST
    session, colon, number = text.rpartition(":")
    if not number.isdecimal() or len(number) > 15:
        raise ArgumentTypeError(f"{text!r} is not a turn: use last, a number, or session:number")
    return session if colon else None, int(number)
