"""`handrail tasks`: the to-do list of a session."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handrail.core.ports.todos import TodoItem
    from handrail.store.sql import SqlConnection


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "tasks")
    parser.add_argument("--open", action="store_true", help="show only open tasks")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the list of the named session, or of the session that changed its list last."""
    from handrail.cli.workspace import check_session, find_workspace, open_record

    place = find_workspace(options)
    items: Sequence[TodoItem] = ()
    if not place.recorded and options.session is not None:
        raise messages.NO_SUCH_SESSION.error(session=options.session, field="session")
    if place.recorded:
        with open_record(place) as db:
            check_session(db, options.session)
            items = _load(db, options.session)
    if options.open:
        items = [item for item in items if item.status.value != "completed"]
    if options.json:
        for item in items:
            output.print_json(item.to_dict())
        return 0
    for line in todo_lines(items):
        output.print_line(line)
    return 0


def todo_lines(items: Sequence[TodoItem]) -> Iterator[str]:
    """Yield the list for a terminal, one item per line; with the owner if there are several."""
    from handrail.cli.render.screen import TextStyle, one_line, paint

    if not items:
        yield "no tasks"
    several = len({item.owner for item in items}) > 1
    for item in items:
        owner = paint(f" ({one_line(item.owner)})", TextStyle.FAINT) if several else ""
        text = one_line(item.content)
        if item.status.value == "in_progress":
            text = paint(one_line(item.active_form or item.content), TextStyle.CAUTION)
        elif item.status.value == "completed":
            text = paint(text, TextStyle.FAINT)
        yield f"{_MARKS[item.status.value]} {item.id}. {text}{owner}"


_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


def _load(db: SqlConnection, session: str | None) -> Sequence[TodoItem]:
    from handrail.core.ports.todos import TODOS_KEY, TodoItem
    from handrail.store.records.calls import load_state

    if session is None:
        row = db.execute(
            "SELECT s.session FROM session_state s LEFT JOIN rows r ON r.session = s.session"
            " WHERE s.key = ? GROUP BY s.session ORDER BY max(r.id) DESC LIMIT 1",
            (TODOS_KEY,),
        ).fetchone()
        session = None if row is None else row[0]
    stored = None if session is None else load_state(db, session).get(TODOS_KEY)
    return [TodoItem.from_dict(item) for item in (stored or {}).get("items", ())]
