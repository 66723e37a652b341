"""Calls in short: a call in one line, the changes of a command in one line; and the result that was
recorded for a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from handrail.core.context import Session
from handrail.core.places import shown
from handrail.core.ports.records import CallRecord
from handrail.core.problems import Problem
from handrail.core.results import ChangeRecord, Status, ToolResult
from handrail.engine.prepare.prepared_call import PreparedCall

_WIDEST: Final = 80


def replay(record: CallRecord) -> ToolResult | None:
    """The result that was recorded for a call, None if it never completed."""
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
    """A call in one line: its name and its arguments, long ones cut."""
    shown = ", ".join(f"{key}={_short(value)}" for key, value in prepared.arguments.items())
    return f"{prepared.name}({shown})"


def fits_one_line(value: object) -> bool:
    """Whether an argument is shown there in full."""
    return len(repr(value)) <= _WIDEST


def _short(value: object) -> str:
    text = repr(value)
    return text if fits_one_line(value) else f"{text[:60]}… ({len(text)} characters)"


_LISTED: Final = 4
_LEFT: Final = 2


def change_summary(
    changes: Sequence[ChangeRecord], meta: Mapping[str, Any], way: str = "undo takes it back"
) -> str | None:
    """The line for the result of a command; None if there is nothing to say. `way` is how the
    change is taken back.
    """
    undo, left = meta.get("undo"), meta.get("undo_left_out")
    if undo is None:
        return None
    reasons = dict(left) if isinstance(left, Mapping) else {}
    if not changes:
        # What is never looked at, such as a large folder, is no news where nothing changed.
        reasons = {path: why for path, why in reasons.items() if _is_news(path)}
        return f"undo: {_without(reasons, len(reasons))}" if reasons else None
    more = f" (+{len(changes) - _LISTED} more)" if len(changes) > _LISTED else ""
    told = f"changed: {', '.join(shown(one.path) for one in changes[:_LISTED])}{more}"
    if undo == "none":
        return f"{told}; undo cannot take it back, nothing was kept"
    if reasons:
        count = int(meta.get("undo_left_out_count", len(reasons)))
        return f"{told}; {way}, without {_without(reasons, count)}"
    return f"{told}; {way}"


def _is_news(path: str) -> bool:
    return path.startswith("job:") or path.rpartition("/")[2] == ".git"


def _without(reasons: Mapping[str, str], count: int) -> str:
    more = f" (+{count - _LEFT} more)" if count > _LEFT else ""
    return ", ".join(_parts(reasons)) + more


def _parts(reasons: Mapping[str, str]) -> Iterator[str]:
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
