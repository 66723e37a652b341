"""`handrail session`: the conversations of the workspace."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from handrail.cli import messages
from handrail.cli.commands.agent.sessions import SessionSummary, list_sessions
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handrail.core.ports.models import Message


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """Add the parser of this command."""
    parser = add_command(subparsers, "session")
    parser.add_argument("what", choices=("list", "show"), nargs="?", default="list", help="list sessions (default), or show one")  # fmt: skip
    parser.add_argument("name", metavar="SESSION", nargs="?", help="session to show (default: the newest)")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the sessions, or the messages of one."""
    known = list_sessions(options)
    if options.what == "list":
        _print_list(options, known)
        return 0
    chosen = [one for one in known if options.name in (None, one.session)]
    if not chosen:
        raise messages.NO_SUCH_SESSION.error(session=options.name or "", field="session")
    _print_session(options, chosen[0])
    return 0


def _print_list(options: Namespace, known: list[SessionSummary]) -> None:
    from handrail.cli.render.screen import format_times, one_line, table

    if options.json:
        for one in known:
            output.print_json(one._asdict())
        return
    if not known:
        output.print_line("no sessions yet; start one with: handrail run")
        return
    times = format_times([one.at_ns for one in known])
    rows = [
        [
            one.session,
            when,
            str(one.turns),
            "unfinished" if one.unfinished else "done",
            one_line(one.model),
            one_line(one.title),
        ]
        for one, when in zip(known, times, strict=True)
    ]
    for line in table(rows, ["session", "started", "turns", "state", "model", "task"]):
        output.print_line(line)


def _print_session(options: Namespace, chosen: SessionSummary) -> None:
    from handrail.agent.codec import encode_message

    loaded = _load_messages(options, chosen.session)
    if options.json:
        encoded = [encode_message(message) for message in loaded]
        output.print_json({**chosen._asdict(), "messages": encoded})
        return
    for message in loaded:
        for line in _lines(message):
            output.print_line(line)


def _load_messages(options: Namespace, session: str) -> tuple[Message, ...]:
    from handrail.agent.conversation import decode_conversation
    from handrail.cli.workspace import find_workspace, open_record
    from handrail.store.records.calls import load_state

    with open_record(find_workspace(options)) as db:
        kept = load_state(db, f"conversation:{session}")
    return tuple(entry.message for entry in decode_conversation(kept).entries)


def _lines(message: Message) -> Iterator[str]:
    from handrail.cli.render.screen import TextStyle, one_line, paint, truncate, wrap
    from handrail.core.ports.models import CallBlock, ResultBlock, TextBlock

    for block in message.blocks:
        if isinstance(block, TextBlock):
            heading = "you" if message.role == "user" else "model"
            yield paint(heading, TextStyle.HEADING)
            yield from wrap(block.text, "  ")
        elif isinstance(block, CallBlock):
            text = f"  • {one_line(block.name)} {one_line(block.arguments_json)}"
            yield paint(truncate(text, 100), TextStyle.PLACE)
        elif isinstance(block, ResultBlock):
            first = next((one.text for one in block.blocks if isinstance(one, TextBlock)), "")
            text = one_line(first.strip().partition("\n")[0])
            yield paint(
                f"    {truncate(text, 96)}", TextStyle.BAD if block.is_error else TextStyle.FAINT
            )
