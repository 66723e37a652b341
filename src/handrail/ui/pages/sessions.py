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
    """Return the path of the page of a session."""
    return f"/session?name={quote(session, safe='')}"


def render_sessions(sessions: SessionList, running: Collection[str], csrf: str) -> list[Html]:
    """Return the lists, newest first; `running` are the sessions in which this page works."""
    content = [element("h1", "Sessions"), _new_task(csrf)]
    if sessions.conversations:
        heads = ("session", "task", "model", "turns", "files", "last task", "state")
        rows = [
            _conversation_row(summary, summary.session in running)
            for summary in sessions.conversations
        ]
        content.append(table(heads, rows))
    if sessions.others:
        content.append(element("h2", "Sessions without a conversation"))
        content.append(
            table(
                ("session", "opened", "rows"), [_session_row(record) for record in sessions.others]
            )
        )
    if not sessions.conversations and not sessions.others:
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


def _conversation_row(summary: ConversationSummary, running: bool) -> tuple[Html | str, ...]:
    state = "running" if running else "unfinished" if summary.unfinished else ""
    path = session_path(summary.session)
    return (
        element("a", shorten(summary.session, 100), href=path),
        element("a", shorten(summary.title, 100), href=path) if summary.title else "",
        summary.model,
        str(summary.turns),
        str(summary.files_changed),
        time(summary.at_ns),
        state,
    )


def _session_row(record: SessionRecord) -> tuple[Html | str, ...]:
    return (
        element("a", record.id, href=session_path(record.id)),
        time(record.opened_ns),
        str(record.rows),
    )
