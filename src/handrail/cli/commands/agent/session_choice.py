"""Chooses the session in which `handrail run` works."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from handrail.cli import messages

if TYPE_CHECKING:
    from handrail.store.records.conversations import ConversationSummary
    from handrail.store.sql import SqlConnection

# The value of --resume without a session.
PICK: Final = ""
_MOST_OFFERED: Final = 20
# A narrower terminal shows fewer columns.
_WIDE: Final = 100
_MOST_MODEL: Final = 20
# The title of a session that was rewound to its beginning, or forked from there.
_NO_TASK: Final = "(no task yet)"


def choose_session(options: Namespace) -> str:
    """Return the session that the options name, the newest one, or a new one. Raises `not_found`,
    and `invalid_arguments` if the user must choose one and there is no terminal.
    """
    from handrail.agent.conversation import new_conversation_id

    if options.resume == PICK:
        options.resume = _pick_session(list_sessions(options))
        return str(options.resume)
    if options.resume:
        known = list_sessions(options, with_files=False)
        if all(summary.session != options.resume for summary in known):
            raise messages.NO_SUCH_SESSION.error(session=options.resume, field="resume")
        return str(options.resume)
    if options.go_on:
        known = list_sessions(options, with_files=False)
        if not known:
            raise messages.NO_SESSIONS.error()
        return known[0].session
    return options.session or new_conversation_id()


def _pick_session(known: list[ConversationSummary]) -> str:
    """Ask at the terminal which session to continue; raises `not_found` or `invalid_arguments`."""
    if not known:
        raise messages.NO_SESSIONS.error()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise messages.SESSION_MISSING.error(field="resume")
    offered = known[:_MOST_OFFERED]
    for line in session_lines(offered, numbered=True):
        print(line)
    while True:
        try:
            answer = input(f"Continue which session? [1-{len(offered)}, Enter: 1] ").strip() or "1"
        except EOFError:
            raise messages.SESSION_MISSING.error(field="resume") from None
        if answer.isdecimal() and 1 <= int(answer) <= len(offered):
            return offered[int(answer) - 1].session
        if answer in (summary.session for summary in known):
            return answer


def session_lines(known: Sequence[ConversationSummary], *, numbered: bool = False) -> Iterator[str]:
    """Yield sessions as a table; on a narrow terminal the model is before the task."""
    from handrail.cli.render.screen import format_times, one_line, table, terminal_width, truncate

    times = format_times([summary.began_ns for summary in known])
    narrow = terminal_width() < _WIDE
    rows = []
    for number, (summary, when) in enumerate(zip(known, times, strict=True), 1):
        files = str(summary.files_changed)
        model = truncate(one_line(summary.model), _MOST_MODEL)
        task = one_line(summary.title) or _NO_TASK
        about = [f"{model}: {task}"] if narrow else [str(summary.turns), model, task]
        rows.append(
            [*([str(number)] * numbered), summary.session, when, summary.state, files, *about]
        )
    heads = ["session", "started", "state", "files"]
    heads += ["model and task"] if narrow else ["turns", "model", "task"]
    yield from table(rows, ["#", *heads] if numbered else heads)


def list_sessions(
    options: Namespace, search: str | None = None, *, with_files: bool = True
) -> list[ConversationSummary]:
    """Return the conversations of the workspace, newest first; with `search` those that contain a
    text. Counting their files reads every recorded change.
    """
    from handrail.cli.workspace import find_workspace, open_record
    from handrail.history.undo.recorded_changes import count_changed_files
    from handrail.store.records.conversations import list_conversations
    from handrail.store.records.traces import iter_traces

    place = find_workspace(options)
    if not place.recorded:
        return []
    with open_record(place) as db:
        known = list_conversations(db)
        if with_files:
            files = count_changed_files(iter_traces(db), {summary.session for summary in known})
            known = [summary._replace(files_changed=files[summary.session]) for summary in known]
        return (
            known
            if search is None
            else [summary for summary in known if _contains(db, summary, search)]
        )


def _contains(db: SqlConnection, summary: ConversationSummary, text: str) -> bool:
    """Return whether a message of the conversation contains a text, ignoring case."""
    from handrail.agent.conversation import decode_conversation
    from handrail.core.ports.models import CallBlock, ResultBlock, TextBlock
    from handrail.store.records.conversations import load_conversation_values

    needle = text.casefold()
    for entry in decode_conversation(load_conversation_values(db, summary.session)).entries:
        for block in entry.message.blocks:
            for part in block.blocks if isinstance(block, ResultBlock) else (block,):
                shown = part.text if isinstance(part, TextBlock) else ""
                if isinstance(part, CallBlock):
                    shown = f"{part.name} {part.arguments_json}"
                if needle in shown.casefold():
                    return True
    return False
