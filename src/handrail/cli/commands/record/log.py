"""`handrail log`: recent calls, or the history of a file; opens no session."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from sqlite3 import Connection

    from handrail.cli.workspace import Workspace
    from handrail.core.ports.records import CallRecord

_LAST: Final = "last"
_POLL_S: Final = 0.3
# Of the newest calls; more than end between two looks.
_MAX_FOLLOWED: Final = 200


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """Add the parser of this command."""
    parser = add_command(subparsers, "log")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--path", metavar="FILE", help="list the changes of a file, or below a folder"
    )
    which.add_argument(
        "--turn",
        metavar="TURN",
        type=_parse_turn,
        help="list the calls of one turn: last, number or session:number",
    )
    parser.add_argument(
        "-n",
        "--limit",
        metavar="N",
        type=_parse_count,
        default=20,
        help="maximum number of rows (default: 20)",
    )
    which.add_argument(
        "--follow", action="store_true", help="print calls as they end, until Ctrl-C"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the newest calls first, as a table or as JSON objects."""
    from handrail.cli.commands.record.file_log import print_file_history
    from handrail.cli.render.screen import one_line
    from handrail.cli.workspace import find_workspace, open_record
    from handrail.store.records.calls import list_calls

    place = find_workspace(options)
    if options.follow:
        return _follow(options, place)
    if not place.recorded and not options.store:
        if not options.json:
            output.print_line(f"no calls recorded in {one_line(place.root)}")
        return 0
    if options.path is not None:
        print_file_history(options, place)
        return 0
    with open_record(place) as db:
        session, number = _chosen_turn(db, options)
        calls = list_calls(db, session, None, options.limit, None, turn=number)
    if options.json:
        for call in calls:
            output.print_json(call_json(call))
    else:
        print_calls(calls)
    return 0


def _follow(options: Namespace, place: Workspace) -> int:
    """Print the calls that end from now on, until the user interrupts."""
    import time

    from handrail.cli.workspace import open_record
    from handrail.store.records.calls import list_calls

    started_ns, seen = time.time_ns(), list[int]()
    printed: set[tuple[str, str, int]] = set()
    try:
        while True:
            state = _file_state(place.home.store)
            if state != seen and place.recorded:
                seen = state
                with open_record(place) as db:
                    calls = list_calls(db, options.session, None, _MAX_FOLLOWED, None)
                _print_ended(calls, started_ns, printed, as_json=options.json)
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        return 0


def _file_state(store: str) -> list[int]:
    """Return sizes and times of the files of a store, which differ after every write."""
    files = [Path(store), Path(f"{store}-wal")]
    return [
        part
        for one in files
        if one.is_file()
        for part in (one.stat().st_size, one.stat().st_mtime_ns)
    ]


def _print_ended(
    calls: Sequence[CallRecord],
    since_ns: int,
    printed: set[tuple[str, str, int]],
    *,
    as_json: bool,
) -> None:
    from handrail.cli.render.screen import terminal_width, truncate

    printed &= {(one.session, one.call_id, one.requested_ns) for one in calls}
    for call in reversed(calls):
        key = (call.session, call.call_id, call.requested_ns)
        if key in printed or call.completed_ns is None or call.completed_ns < since_ns:
            continue
        printed.add(key)
        if as_json:
            output.print_json(call_json(call))
        else:
            output.print_line(truncate("  ".join(_cells(call)), terminal_width()))
    sys.stdout.flush()


def call_json(call: CallRecord) -> dict[str, Any]:
    """Return a call as JSON, with its times in UTC."""
    from handrail.cli.render.screen import iso_utc

    ended = None if call.completed_ns is None else iso_utc(call.completed_ns)
    return {
        **asdict(call),
        "requested_at": iso_utc(call.requested_ns),
        "completed_at": ended,
    }


def print_calls(calls: Sequence[CallRecord]) -> None:
    """Print the calls as a table, newest first."""
    from handrail.cli.render.screen import TextStyle, table

    if not calls:
        output.print_line("no calls")
        return
    rows = [_cells(call) for call in calls]
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
        one_line(tool_name(call)),
        one_line(call_status(call)),
        arguments_line(call),
    )


def tool_name(call: CallRecord) -> str:
    """Return the canonical name of the tool; "redo" for an undo call that redoes."""
    done = call.completed or {}
    if is_redo(call):
        return "redo"
    return str(call.requested.get("tool") or done.get("tool") or "(purged)")


def is_redo(call: CallRecord) -> bool:
    """Return whether the call is `undo` with `redo` set."""
    arguments = call.requested.get("arguments")
    if call.requested.get("tool") != "undo" or not isinstance(arguments, dict):
        return False
    return arguments.get("redo") is True


def call_status(call: CallRecord) -> str:
    """Return the status of the call."""
    if "repeats" in call.requested:
        return "repeated"
    if call.completed is None:
        return "unfinished"
    return str(call.completed.get("status") or "(purged)")


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
        if not (key == "redo" and is_redo(call))
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


def _chosen_turn(db: Connection, options: Namespace) -> tuple[str | None, int | None]:
    """Return session and number of the turn to list; None means any."""
    from handrail.store.records.calls import list_calls

    if options.turn == _LAST:
        newest = list_calls(db, options.session, None, 1, None)
        return (newest[0].session, newest[0].turn) if newest else (options.session, None)
    session, number = options.turn or (None, None)
    return options.session or session, number


def _parse_turn(text: str) -> tuple[str | None, int] | str:
    if text == _LAST:
        return _LAST
    session, colon, number = text.rpartition(":")
    if not number.isdecimal() or len(number) > 15:
        raise ArgumentTypeError(f"{text!r} is not a turn: use last, a number, or session:number")
    return session if colon else None, int(number)


def _parse_count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)
