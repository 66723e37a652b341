"""Short forms of calls: a call in one line, the changes of a command in one line; and the result
that was recorded for a call.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from handrail.core.context import Session
from handrail.core.names.caches import is_cache
from handrail.core.places import shown
from handrail.core.ports.records import CallRecord
from handrail.core.problems import Problem
from handrail.core.results import ChangeRecord, Status, ToolResult
from handrail.engine.prepare.prepared_call import PreparedCall

if TYPE_CHECKING:
    from handrail.core.events import Event
    from handrail.engine.call_state import CallState

_log = logging.getLogger("handrail")
_WIDEST: Final = 80


def replay(record: CallRecord) -> ToolResult | None:
    """Return the result that was recorded for a call; None if it never completed."""
    done = record.completed
    if done is None:
        return None
    problem = done["problem"]
    return ToolResult(
        call_id=record.call_id,
        status=Status(done["status"]),
        text=done["text"],
        data=done["data"],
        problem=Problem(**problem) if problem else None,
        changes=tuple([ChangeRecord(*change) for change in done["changes"]]),
        meta={**_mapping(done["meta"]), "replayed": True},
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def one_line(prepared: PreparedCall) -> str:
    """Return a call in one line, in the caller's names: its name and its arguments, shortened."""
    words, arguments = prepared.parsed.words, caller_arguments(prepared)
    name = prepared.name if words is None else words.tool(prepared.name)
    return f"{name}({', '.join(f'{key}={_short(value)}' for key, value in arguments.items())})"


def ended_events(state: CallState, result: ToolResult) -> Iterator[Event]:
    """Return the events of a call that has ended: its changes, then its end."""
    from handrail.core.events import CallEnded, FileChanged

    for change in result.changes:
        yield FileChanged(result.call_id, change.path, change.operation)
    verdict, problem = state.clearance.verdict, result.problem
    yield CallEnded(
        result.call_id,
        state.prepared.name,
        result.status.value,
        None if problem is None else problem.code,
        result.meta["duration_s"],
        None if problem is None else problem.message,
        None if verdict is None else verdict.effect.value,
        None if verdict is None else verdict.rule,
        footprint_words(state.prepared),
        len(result.changes),
    )


def footprint_words(prepared: PreparedCall) -> tuple[str, ...]:
    """Return what a call can touch, such as "write file:/project/a.py"."""
    touched = [f"{access.value} {key}" for key, access in prepared.footprint.touches]
    return (*touched, "open-ended") if prepared.footprint.open_ended else tuple(touched)


def caller_arguments(prepared: PreparedCall) -> Mapping[str, Any]:
    """The arguments under the names and in the units of the caller."""
    words = prepared.parsed.words
    return prepared.arguments if words is None else words.spell(prepared.arguments)


def render_call(prepared: PreparedCall) -> str | None:
    """Return the call as its tool shows it to a user; None if the tool does not, or fails."""
    if prepared.entry is None or prepared.args is None:
        return None
    try:
        return prepared.tool.render_call(prepared.args) or None
    except Exception:  # noqa: BLE001 - a tool's own code; the summary is shown instead
        _log.exception("%s cannot be shown", prepared.name)
        return None


def fits_one_line(value: object) -> bool:
    """Return whether an argument is shown completely in the line."""
    return len(repr(value)) <= _WIDEST


def _short(value: object) -> str:
    text = repr(value)
    return text if fits_one_line(value) else f"{text[:60]}… ({len(text)} characters)"


_LISTED: Final = 4
_LEFT: Final = 2


def change_summary(
    changes: Sequence[ChangeRecord], meta: Mapping[str, Any], way: str = "undo reverts it"
) -> str | None:
    """Return the line for a command's result, without files in caches; None if there is none. `way`
    says how to undo the changes.
    """
    undo, left = meta.get("undo"), meta.get("undo_left_out")
    if undo is None:
        return None
    changes = [one for one in changes if not is_cache(one.path)]
    reasons = dict(left) if isinstance(left, Mapping) else {}
    if not changes:
        # Paths that are never tracked, such as a large folder, are not mentioned where nothing
        # changed.
        reasons = {path: why for path, why in reasons.items() if _is_news(path)}
        return f"undo: {_count_without(reasons, len(reasons))}" if reasons else None
    more = f" (+{len(changes) - _LISTED} more)" if len(changes) > _LISTED else ""
    text = f"changed: {', '.join(shown(one.path) for one in changes[:_LISTED])}{more}"
    if undo == "none":
        return f"{text}; undo cannot revert it: nothing was kept"
    if reasons:
        count = int(meta.get("undo_left_out_count", len(reasons)))
        return f"{text}; {way}, without {_count_without(reasons, count)}"
    return f"{text}; {way}"


def _is_news(path: str) -> bool:
    return path.startswith("job:") or path.rpartition("/")[2] == ".git"


def _count_without(reasons: Mapping[str, str], count: int) -> str:
    more = f" (+{count - _LEFT} more)" if count > _LEFT else ""
    return ", ".join(_reason_parts(reasons)) + more


def _reason_parts(reasons: Mapping[str, str]) -> Iterator[str]:
    for path, why in list(reasons.items())[:_LEFT]:
        yield why if path.startswith("job:") else f"{shown(path)} ({why})"


def log_attributes(result: ToolResult, session: Session) -> dict[str, Any]:
    """Return the attributes of the log record of a call."""
    return {
        "call_id": result.call_id,
        "tool": result.meta.get("tool"),
        "status": result.status.value,
        "duration_s": result.meta.get("duration_s"),
        "session": session.id,
        "workspace": session.roots[0],
    }
