"""The first page: the sessions of the workspace, and a form for a new task."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import quote

from handrail.assembly.extras.record_reader import SessionList
from handrail.core.ports.records import SessionRecord
from handrail.store.records.conversations import ConversationSummary
from handrail.ui.html import Html, element
from handrail.ui.pages.layout import button, form, shorten, table, time


def session_path(session: str) -> str:
    """Where the page of a session is."""
    return f"/session?name={quote(session, safe='')}"


def render_sessions(found: SessionList, running: Collection[str], csrf: str) -> list[Html]:
    """The lists, newest first; `running` are the sessions in which this page works."""
    content = [element("h1", "Sessions"), _new_task(csrf)]
    if found.conversations:
        heads = ("session", "task", "model", "turns", "files", "last task", "state")
        rows = [_conversation_row(one, one.session in running) for one in found.conversations]
        content.append(table(heads, rows))
    if found.others:
        content.append(element("h2", "Sessions without a conversation"))
        content.append(
            table(("session", "opened", "rows"), [_session_row(one) for one in found.others])
        )
    if not found.conversations and not found.others:
        content.append(element("p", "Nothing is recorded in this workspace yet."))
    return content


def _new_task(csrf: str) -> Html:
    text = element(
        "textarea",
        name="task",
        rows=3,
        required=True,
        aria_label="task",
        placeholder="Describe a task",
    )
    return form("/tasks", csrf, text, button("Start", kind="primary"), class_="task")


def _conversation_row(one: ConversationSummary, running: bool) -> tuple[Html | str, ...]:
    state = "running" if running else "unfinished" if one.unfinished else ""
    path = session_path(one.session)
    return (
        element("a", shorten(one.session, 100), href=path),
        element("a", shorten(one.title, 100), href=path) if one.title else "",
        one.model,
        str(one.turns),
        str(one.files_changed),
        time(one.at_ns),
        state,
    )


def _session_row(one: SessionRecord) -> tuple[Html | str, ...]:
    return element("a", one.id, href=session_path(one.id)), time(one.opened_ns), str(one.rows)
