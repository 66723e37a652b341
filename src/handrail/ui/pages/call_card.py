"""A call as a card of the timeline, and as a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from handrail.assembly.extras.record_reader import CallView
from handrail.core.ports.records import CallRecord
from handrail.history.call_diffs import FileDiff
from handrail.ui.html import Html, element, hidden_field
from handrail.ui.pages.layout import button, code_block, facts, form, shorten, time
from handrail.ui.pages.sessions import session_path

_CARD_ARGUMENTS: Final = 300
_CARD_OUTPUT: Final = 500
_CARD_FACT: Final = 300
_PAGE_CHARS: Final = 20_000
# The limit of all diffs of a page together; each is shown with at least a beginning.
_DIFFS_BYTES: Final = 30_000
_LEAST_DIFF: Final = 300
# Lanes with a separate style; further agents share the last one.
LANES: Final = 6


class CallParts(NamedTuple):
    """The offsets of the shown parts of the arguments and of the output."""

    arguments: int = 0
    offset: int = 0


def call_path(call: CallRecord) -> str:
    """Return the path of the page of a call."""
    return f"/call?session={quote(call.session, safe='')}&id={quote(call.call_id, safe='')}"


def render_card(call: CallRecord, lane: int) -> Html:
    """Return the card of a call in the lane of its agent."""
    completed, status = call.completed or {}, call.status
    head = element(
        "header",
        element("a", call.tool, href=call_path(call), class_="tool"),
        element("span", status, class_="status"),
        element("span", _duration(call), class_="duration"),
    )
    text = _outcome_text(completed)
    parts = [
        head,
        element("p", shorten(_arguments_line(call), _CARD_ARGUMENTS), class_="arguments"),
        _small("verdict", _verdict(completed)),
        _small("changes", _changes(completed)),
        code_block(shorten(text, _CARD_OUTPUT), _text_kind(completed)) if text else None,
    ]
    kind = f"card {status.strip('()')} lane-{min(lane, LANES - 1)}"
    return element("article", *parts, class_=kind, id=f"call-{call.call_id}")


def render_call(view: CallView, parts: CallParts, csrf: str) -> list[Html]:
    """Return the page of a call."""
    call, completed = view.call, view.call.completed or {}
    back = element(
        "a", f"session {call.session}, turn {call.turn}", href=session_path(call.session)
    )
    content = [
        element("h1", call.tool, ": ", call.status),
        facts(
            ("session", back),
            ("call", call.call_id),
            ("agent", str(call.requested.get("agent", "main"))),
            ("requested", time(call.requested_ns)),
            ("took", _duration(call)),
            ("risk", str(call.requested.get("risk", ""))),
            ("verdict", _verdict(completed)),
            ("changes", _changes(completed)),
        ),
        element("h2", "Arguments"),
        *_text_page(view, "arguments", _all_arguments(call), parts),
    ]
    if view.diffs:
        content += [element("h2", "Changes"), *_diffs(view), _undo_forms(call, csrf)]
    text = (
        _outcome_text(completed)
        if completed.get("problem")
        else view.full_text or _outcome_text(completed)
    )
    if text:
        content += [element("h2", "Output"), *_text_page(view, "offset", text, parts)]
    return content


def _all_arguments(call: CallRecord) -> str:
    return json.dumps(call.requested.get("arguments"), indent=2, ensure_ascii=False)


def _diffs(view: CallView) -> Iterator[Html]:
    """Yield the diffs, which share a limit, and how to see the rest."""
    limit = max(_LEAST_DIFF, min(_PAGE_CHARS, _DIFFS_BYTES // len(view.diffs)))
    cut = any(len(diff.diff or "") > limit for diff in view.diffs)
    yield from (_diff(diff, limit) for diff in view.diffs)
    more = len((view.call.completed or {}).get("changes") or ()) - len(view.diffs)
    if more > 0 or cut:
        files = f"{more:,} more files" if more > 0 else "the rest"
        command = f"handrail show {view.call.call_id}"
        yield element("p", f"{files}: ", element("code", command), class_="small")


def _diff(diff: FileDiff, limit: int) -> Html:
    state = "" if diff.standing else ", undone since"
    title = element("h3", f"{diff.path} ({diff.operation}{state})")
    body = (
        element("p", f"No diff: {diff.reason}.")
        if diff.diff is None
        else code_block(shorten(diff.diff, limit), "diff")
    )
    return element("section", title, body)


def _undo_forms(call: CallRecord, csrf: str) -> Html:
    fields = (
        hidden_field("call", call.call_id),
        hidden_field("session", call.session),
    )
    return form(
        "/undo",
        csrf,
        *fields,
        button("Undo this call", "direction", "undo"),
        button("Redo", "direction", "redo"),
        class_="actions",
    )


def _text_page(view: CallView, name: str, text: str, parts: CallParts) -> list[Html]:
    """Return a part of a text, with links to the previous and next parts if it is not all."""
    start: int = getattr(parts, name)
    offset = max(0, min(start, len(text)))
    shown = text[offset : offset + _PAGE_CHARS]
    if len(shown) == len(text):
        return [code_block(text)]

    def link(label: str, at: int) -> Html:
        places = urlencode(parts._replace(**{name: at})._asdict())
        return element("a", label, href=f"{call_path(view.call)}&{places}")

    links = [link("previous part", max(0, offset - _PAGE_CHARS))] if offset else []
    if offset + _PAGE_CHARS < len(text):
        links.append(link("next part", offset + _PAGE_CHARS))
    place = f"characters {offset + 1:,} to {offset + len(shown):,} of {len(text):,} "
    return [code_block(shown), element("p", place, *links, class_="pages")]


def _text_kind(completed: Mapping[str, Any]) -> str:
    """Return "diff" for the results of edits."""
    return "diff" if completed.get("changes") and "\n@@ " in str(completed.get("text")) else ""


def _outcome_text(completed: Mapping[str, Any]) -> str:
    problem, text = completed.get("problem"), str(completed.get("text") or "")
    if isinstance(problem, Mapping) and completed.get("data") is None:
        hint = f"\nHint: {problem['hint']}" if problem.get("hint") else ""
        return f"{problem.get('code')}: {problem.get('message')}{hint}"
    return text


def _verdict(completed: Mapping[str, Any]) -> str:
    cleared = completed.get("cleared")
    if not isinstance(cleared, list) or len(cleared) != 2:
        return ""
    answered = completed.get("answered_by")
    if not isinstance(answered, Mapping):
        return f"{cleared[0]} by {cleared[1]}"
    who = answered.get("who") or "user"
    answer = f"{answered.get('answer')} by {who} ({answered.get('via')})"
    return f"{cleared[0]} by {cleared[1]}; answered {answer}"


def _changes(completed: Mapping[str, Any]) -> str:
    changes = completed.get("changes") or ()
    shown = ", ".join(f"{change[0]} ({change[1]})" for change in changes[:5])
    return shown + (f" and {len(changes) - 5} more" if len(changes) > 5 else "")


def _arguments_line(call: CallRecord) -> str:
    arguments = call.requested.get("arguments")
    if not isinstance(arguments, Mapping):
        return ""
    shown = {name: _argument_text(value)[:_CARD_ARGUMENTS] for name, value in arguments.items()}
    return "  ".join(f"{name}={text}" for name, text in shown.items())


def _argument_text(value: object) -> str:
    """Return text unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _duration(call: CallRecord) -> str:
    if call.completed_ns is None:
        return ""
    return f"{max(call.completed_ns - call.requested_ns, 0) / 1e9:.2f} s"


def _small(name: str, text: str) -> Html | None:
    return element("p", f"{name}: {shorten(text, _CARD_FACT)}", class_="small") if text else None
