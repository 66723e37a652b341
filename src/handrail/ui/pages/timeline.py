"""The page of a session: messages and calls by turn, a lane per agent, and the possible actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from handrail.agent.projection import ConversationEntry
from handrail.assembly.extras.record_reader import SessionView
from handrail.core.ports.models import TextBlock
from handrail.core.ports.records import CallRecord
from handrail.ui.conversations import TaskState, UsagePoint
from handrail.ui.html import Child, Html, element, hidden_field
from handrail.ui.pages.call_card import LANES, render_card
from handrail.ui.pages.layout import button, facts, form, shorten, time
from handrail.ui.pages.sessions import session_path

# Limits of one message, and of all messages of a page together; each is shown with at least a
# beginning.
_MESSAGE_BYTES: Final = 8_000
_MESSAGES_BYTES: Final = 40_000
_LEAST_BYTES: Final = 200
_BAR_WIDTH: Final = 8
_CHART_HEIGHT: Final = 60
_MAX_BARS: Final = 60


def render_timeline(
    view: SessionView, task: TaskState | None, questions: Sequence[Html], csrf: str
) -> list[Html]:
    """Return the session with its newest calls, and its open questions."""
    summary = view.summary
    title = summary.title if summary is not None and summary.title else view.session
    lanes = _lanes(view.calls)
    content = [
        element("h1", shorten(title, 120)),
        facts(
            ("session", view.session),
            ("model", None if summary is None else summary.model),
            ("last task", time(summary.at_ns) if summary is not None and summary.at_ns else None),
            ("agents", _legend(lanes) if len(lanes) > 1 else None),
        ),
    ]
    if view.older is not None:
        path = f"{session_path(view.session)}&before={view.older}"
        content.append(element("p", element("a", "older calls", href=path), class_="pages"))
    turns = _turns(view)
    limit = _message_limit(view, turns)
    content += [_turn(number, view, lanes, csrf, limit) for number in turns]
    content.append(element("pre", id="live-text", class_="message model", hidden=True))
    content += questions
    if task is not None:
        content.append(_task_state(task))
    if view.conversation is not None or task is not None:
        content.append(_controls(view, task, csrf))
    return content


def _turns(view: SessionView) -> list[int]:
    """Return the turns of the calls shown, and those of the messages between and after them."""
    call_turns = {call.turn for call in view.calls}
    first = min(call_turns, default=0) if view.older is not None else 0
    message_turns = (
        {} if view.conversation is None else {entry.turn for entry in view.conversation.entries}
    )
    return sorted(call_turns | {turn for turn in message_turns if turn >= first})


def _lanes(calls: Sequence[CallRecord]) -> dict[str, int]:
    """Return a number for each agent, in the order of their first calls; "main" is the first."""
    names = ["main", *(str(call.requested.get("agent", "main")) for call in calls)]
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _legend(lanes: dict[str, int]) -> Html:
    shown = [
        element("span", name, class_=f"lane-name lane-{min(number, LANES - 1)}")
        for name, number in lanes.items()
    ]
    return element("span", *shown)


def _message_limit(view: SessionView, turns: Sequence[int]) -> int:
    """Return how much of each message is shown: all messages of a page share a limit."""
    entries = () if view.conversation is None else view.conversation.entries
    shown = sum(1 for entry in entries if entry.turn in turns)
    return max(_LEAST_BYTES, min(_MESSAGE_BYTES, _MESSAGES_BYTES // max(shown, 1)))


def _turn(number: int, view: SessionView, lanes: dict[str, int], csrf: str, limit: int) -> Html:
    entries = () if view.conversation is None else view.conversation.entries
    of_turn = [entry for entry in entries if entry.turn == number]
    cards = [
        render_card(call, lanes[str(call.requested.get("agent", "main"))])
        for call in view.calls
        if call.turn == number
    ]
    heading = f"turn {number}" if number else "before the first turn"
    # A rewind has cut off the turn, or it is an action of the user.
    left = view.conversation is not None and not of_turn and number
    if left:
        heading = f"{heading}, not part of the conversation"
    actions = () if left else _turn_actions(number, view, csrf)
    return element(
        "section",
        element("h2", heading, *actions),
        *_messages(of_turn, "assistant", limit),
        *cards,
        *_messages(of_turn, "user", limit),
        class_="turn",
        id=f"turn-{number}",
    )


def _turn_actions(number: int, view: SessionView, csrf: str) -> Iterator[Html]:
    if view.conversation is None:
        return
    turn, field = str(number), hidden_field("session", view.session)
    rewind, fork = button("rewind to here", "turn", turn), button("fork here", "turn", turn)
    yield form("/session/rewind", csrf, field, rewind, class_="inline")
    yield form("/session/fork", csrf, field, fork, class_="inline")


def _messages(entries: Sequence[ConversationEntry], role: str, limit: int) -> Iterator[Html]:
    kind, label = ("model", "model") if role == "assistant" else ("user", "you")
    for entry in entries:
        if entry.message.role != role:
            continue
        for block in entry.message.blocks:
            if isinstance(block, TextBlock) and block.text.strip():
                text = shorten(block.text.strip(), limit)
                yield element("pre", text, class_=f"message {kind}", data_by=label)


def _task_state(task: TaskState) -> Html:
    rows: list[tuple[str, Child]] = [("task here", "running" if task.running else "ended")]
    if task.result is not None:
        used = task.result.usage
        rows += [
            ("status", task.result.status),
            ("tokens", f"{used.input_tokens:,} in, {used.output_tokens:,} out"),
            ("money", None if used.usd is None else f"{used.usd:.4f} USD"),
        ]
    if task.problem is not None:
        rows.append(("problem", str(task.problem)))
    return element("section", facts(*rows), usage_chart(list(task.points)), class_="task-state")


def usage_chart(points: Sequence[UsagePoint]) -> Html | None:
    """Return bars of the tokens of each response: sent below, received on top."""
    points = points[-_MAX_BARS:]
    most = max((point.input_tokens + point.output_tokens for point in points), default=0)
    if not most:
        return None
    bars = []
    for number, point in enumerate(points):
        sent = round(_CHART_HEIGHT * point.input_tokens / most)
        received = max(1, round(_CHART_HEIGHT * point.output_tokens / most))
        place = number * _BAR_WIDTH
        title = element("title", f"{point.input_tokens:,} in, {point.output_tokens:,} out")
        bars += [
            _bar(place, _CHART_HEIGHT - sent, sent, "sent", title),
            _bar(place, _CHART_HEIGHT - sent - received, received, "received", title),
        ]
    width = max(len(points) * _BAR_WIDTH, _BAR_WIDTH)
    label = f"tokens of {len(points)} responses, at most {most:,}"
    return element(
        "figure",
        element(
            "svg",
            *bars,
            viewBox=f"0 0 {width} {_CHART_HEIGHT}",
            width=width,
            height=_CHART_HEIGHT,
            role="img",
            aria_label=label,
        ),
        element("figcaption", label),
    )


def _bar(x: int, y: int, height: int, kind: str, title: Html) -> Html:
    return element(
        "rect", title, x=x, y=max(y, 0), width=_BAR_WIDTH - 2, height=height, class_=kind
    )


def _controls(view: SessionView, task: TaskState | None, csrf: str) -> Html:
    running = task is not None and task.running
    field = hidden_field("session", view.session)
    text = element(
        "textarea",
        name="task",
        rows=3,
        required=True,
        aria_label="message",
        placeholder="Steer the running task" if running else "The next task",
    )
    parts = [
        form(
            "/session/task",
            csrf,
            field,
            text,
            button("Send" if running else "Start", kind="primary"),
            class_="task",
        )
    ]
    if running:
        parts.append(form("/session/interrupt", csrf, field, button("Interrupt", kind="danger")))
    return element("section", *parts, class_="controls")
