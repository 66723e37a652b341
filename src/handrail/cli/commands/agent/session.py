"""`handrail session`: the conversations of the workspace."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.commands.agent.session_choice import list_sessions, session_lines
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handrail.agent.agent import Agent
    from handrail.agent.conversation import KeptConversation
    from handrail.agent.projection import ConversationEntry
    from handrail.core.events import Event
    from handrail.core.ports.models import ResultBlock
    from handrail.store.records.conversations import ConversationSummary

_ACTIONS: Final = ("list", "show", "rewind", "fork", "delete", "export", "import")
_RESULT_MARGIN: Final = "    "
_RESULT_LINES: Final = 10
_EPILOG: Final = """\
rewind restores the conversation and the files to the end of a turn; fork creates
a new session with the conversation up to there and leaves the files alone, or, with
--into, writes the files as of that turn to a separate directory. delete
removes the messages, those of its subagents, and the payloads of the calls, which
can then not be undone.
export prints the conversation as text only; import reads such a file.

examples:
  handrail session list --search "flaky test"
  handrail session rewind 574fe7dbb840 3
  handrail session fork 574fe7dbb840
  handrail session fork 574fe7dbb840 3 --into ../other-idea"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "session", epilog=_EPILOG)
    parser.add_argument("what", metavar="ACTION", choices=_ACTIONS, nargs="?", default="list", help="list (the default), show, rewind, fork, delete, export or import")  # fmt: skip
    parser.add_argument("name", metavar="SESSION", nargs="?", help="the session (default: the newest; delete and export need one); for import: a file")  # fmt: skip
    parser.add_argument("turn", metavar="TURN", nargs="?", type=int, help="for rewind and fork: the turn to go back to; 0 is before the first")  # fmt: skip
    parser.add_argument("--search", metavar="TEXT", help="list only sessions whose messages contain this text")  # fmt: skip
    parser.add_argument("--full", action="store_true", help="for show: results in full")
    parser.add_argument("--force", action="store_true", help="for rewind: overwrite what others changed since")  # fmt: skip
    parser.add_argument("--into", metavar="DIR", help="for fork: an empty or new directory, for a copy of the workspace")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the sessions or one of them, or rewind, fork, export, import or delete one."""
    import asyncio

    if options.what == "import":
        asyncio.run(_import(options, _read_file(options.name or "")))
        return 0
    known = list_sessions(options, options.search)
    if options.what == "list":
        _print_list(options, known)
        return 0
    chosen = [summary for summary in known if options.name in (None, summary.session)]
    if not chosen and options.name is None:
        raise messages.NO_SESSIONS.error()
    if not chosen:
        raise messages.NO_SUCH_SESSION.error(session=options.name, field="session")
    if options.what == "show":
        _print_session(options, chosen[0])
    elif options.what in ("delete", "export") and options.name is None:
        raise messages.NO_SESSION_NAMED.error(action=options.what, field="session")
    elif options.what == "export":
        _export(options, chosen[0])
    elif options.what == "delete":
        asyncio.run(_end_work(options, chosen[0]))
        _delete(options, chosen[0])
    elif options.what == "rewind" and options.turn is None:
        raise messages.NO_TURN.error(field="turn")
    else:
        asyncio.run(_go_back(options, chosen[0]))
    return 0


def _export(options: Namespace, chosen: ConversationSummary) -> None:
    from handrail.agent.session_file import export_conversation

    output.print_json(export_conversation(_load(options, chosen.session)))


def _read_file(name: str) -> Any:
    """Return the JSON value in a file, None if it is too long; raises `invalid_arguments`."""
    from pathlib import Path

    from handrail.agent.session_file import MAX_FILE_BYTES
    from handrail.core.text.nesting import parse_json

    try:
        with Path(name).expanduser().open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        return parse_json(data) if len(data) <= MAX_FILE_BYTES else None
    except (OSError, ValueError) as error:
        raise messages.LINES_UNREADABLE.error(file=name, error=error, field="session") from error


async def _import(options: Namespace, exported: Any) -> None:
    from handrail.agent.conversation import new_conversation_id
    from handrail.agent.session_file import import_conversation
    from handrail.cli.workspace import open_session

    session = new_conversation_id()
    async with open_session(options) as rt:
        now_ns = rt.agent_services.clock.now_ns()
        await import_conversation(exported, session, rt.store, now_ns).flush()
    output.print_line(f"session {session}: handrail run --resume {session}")


async def _end_work(options: Namespace, chosen: ConversationSummary) -> None:
    """End the jobs of the session; raises `unavailable` if a process works in it."""
    from handrail.agent.lease import ConversationLease
    from handrail.cli.workspace import open_session
    from handrail.core.call import call_owner, is_owned

    async with open_session(options) as rt:
        root, process = rt.session.roots[0], rt.agent_services.process
        owner = call_owner(chosen.session)
        lease = ConversationLease(rt.store, root, chosen.session, process)
        await lease.acquire()
        for job in await rt.jobs.list():
            if is_owned(job.call_id, owner):
                await rt.jobs.revoke(job.call_id)
        await lease.release()


def _delete(options: Namespace, chosen: ConversationSummary) -> None:
    from handrail.cli.commands.record.conversation_purge import delete_conversation
    from handrail.cli.commands.record.gc import free_contents
    from handrail.cli.workspace import find_workspace

    place = find_workspace(options)
    delete_conversation(place, chosen.session)
    free_contents(place, dry_run=False)
    output.print_line(f"session {chosen.session} is deleted")


async def _go_back(options: Namespace, chosen: ConversationSummary) -> None:
    from handrail.agent.agent import Agent
    from handrail.cli.render.screen import one_line
    from handrail.cli.workspace import open_session

    options.session = chosen.session
    async with open_session(options) as rt:
        agent = Agent(rt, session=chosen.session)
        if options.what == "fork":
            forked = await agent.fork(options.turn, into=options.into)
            _print_fork(options, chosen, forked)
            return
        rewound = await agent.rewind(options.turn, force=options.force, on_event=_print_note)
    if options.json:
        output.print_json(rewound._asdict())
        return
    for note in rewound.not_reverted:
        output.warn(one_line(note))
    files = ", ".join(map(one_line, rewound.changes)) or "no file"
    output.print_line(
        f"session {chosen.session} is at the end of turn {rewound.turn}; reverted: {files}"
    )


def _print_fork(options: Namespace, chosen: ConversationSummary, forked: Agent) -> None:
    """Print how to continue the fork, and the note to the model about the files."""
    import shlex
    from pathlib import Path

    from handrail.cli.render.screen import wrap

    place = {} if options.into is None else {"directory": str(Path(options.into).resolve())}
    if options.json:
        output.print_json({"session": forked.session, "forked_from": chosen.session, **place})
        return
    if forked.messages and forked.messages[-1].role == "user":
        for line in wrap(forked.messages[-1].text, ""):
            output.print_line(line)
    where = "".join(f" -w {shlex.quote(path)}" for path in place.values())
    output.print_line(f"session {forked.session}: handrail run{where} --resume {forked.session}")


def _print_note(event: Event) -> None:
    if event.type == "notification":
        output.warn(str(event.to_dict()["text"]))


def _print_list(options: Namespace, known: list[ConversationSummary]) -> None:
    if options.json:
        for summary in known:
            output.print_json(summary._asdict())
        return
    if not known:
        output.print_line("no sessions yet; start one with: handrail run")
        return
    for line in session_lines(known):
        output.print_line(line)


def _print_session(options: Namespace, chosen: ConversationSummary) -> None:
    from handrail.agent.codec import encode_message

    entries = _load(options, chosen.session).entries
    if options.json:
        encoded = [{"turn": entry.turn, **encode_message(entry.message)} for entry in entries]
        output.print_json({**chosen._asdict(), "messages": encoded})
        return
    for line in conversation_lines(entries, full=options.full):
        output.print_line(line)
    if not entries:
        output.print_line(f"session {chosen.session} has no messages")


def _load(options: Namespace, session: str) -> KeptConversation:
    from handrail.agent.conversation import decode_conversation
    from handrail.cli.workspace import find_workspace, open_record
    from handrail.store.records.conversations import load_conversation_values

    with open_record(find_workspace(options)) as db:
        values = load_conversation_values(db, session)
    return decode_conversation(values)


def conversation_lines(entries: Sequence[ConversationEntry], *, full: bool) -> Iterator[str]:
    """Return the messages for a terminal, with a heading for the user and for each turn of the
    model. Of a long result only the first lines, unless `full`.
    """
    from handrail.cli.render.screen import (
        TextStyle,
        one_line,
        paint,
        terminal_width,
        truncate,
        wrap,
    )
    from handrail.core.ports.models import CallBlock, ResultBlock, TextBlock

    speaker, results = "", dict[str, ResultBlock]()
    for at, (message, turn, _) in enumerate(entries):
        said_by = "you" if message.role == "user" else f"model, turn {turn}"
        if said_by != speaker:
            speaker = said_by
            yield paint(speaker, TextStyle.HEADING)
        if message.role == "assistant":
            results = _results_after(entries, at)
        for block in message.blocks:
            if isinstance(block, TextBlock):
                yield from wrap(block.text, "  ")
            elif isinstance(block, CallBlock):
                text = f"• {one_line(block.name)} {one_line(block.arguments_json)}"
                shown = wrap(text, "  ") if full else [truncate(f"  {text}", terminal_width())]
                yield from (paint(line, TextStyle.PLACE) for line in shown)
                if (result := results.get(block.id)) is not None:
                    yield from _result_lines(result, full=full)
            elif isinstance(block, ResultBlock) and block.call_id not in results:
                yield from _result_lines(block, full=full)


def _results_after(entries: Sequence[ConversationEntry], at: int) -> dict[str, ResultBlock]:
    """Return the results of the calls in the message at an index, by the ids of the calls."""
    from itertools import takewhile

    from handrail.core.ports.models import ResultBlock

    calls = {call.id for call in entries[at].message.calls}
    answers = takewhile(lambda entry: entry.message.role != "assistant", entries[at + 1 :])
    blocks = [block for entry in answers for block in entry.message.blocks]
    return {
        block.call_id: block
        for block in blocks
        if isinstance(block, ResultBlock) and block.call_id in calls
    }


def _result_lines(block: ResultBlock, *, full: bool) -> Iterator[str]:
    from handrail.cli.render.screen import TextStyle, count_noun, paint, wrap
    from handrail.core.ports.models import Picture, TextBlock

    lines: list[str] = []
    for part in block.blocks:
        if isinstance(part, TextBlock):
            lines += wrap(part.text.strip("\n"), _RESULT_MARGIN)
        elif isinstance(part, Picture):
            lines.append(f"{_RESULT_MARGIN}[picture, {part.media_type}, {len(part.data):,} bytes]")
    shown = lines if full else lines[:_RESULT_LINES]
    style = TextStyle.BAD if block.is_error else TextStyle.FAINT
    yield from (paint(line, style) for line in shown)
    if len(lines) > len(shown):
        left = count_noun(len(lines) - len(shown), "line")
        yield paint(f"{_RESULT_MARGIN}… {left} more; --full shows all", style)
