"""What is written down of a call, and a result read back from it. Shapes are append-only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from handrail.core.places import shown
from handrail.core.ports.records import CallRecord
from handrail.core.problems import Problem
from handrail.core.results import ChangeRecord, Status, ToolResult
from handrail.engine.call_state import CallState
from handrail.engine.prepare.prepared_call import PreparedCall

_WIDEST: Final = 80


def requested(prepared: PreparedCall, dialect: str) -> dict[str, Any]:
    """The payload of a `requested` row: what was asked, by whom, as it was understood."""
    payload = {
        "tool": prepared.name,
        "called": prepared.call.name,
        "arguments": prepared.arguments,
        "agent": prepared.call.agent,
        "dialect": dialect,
        "risk": prepared.risk.word,
    }
    if prepared.parsed.coerced:
        payload["coerced"] = prepared.parsed.coerced
    if prepared.parsed.ignored:
        payload["ignored"] = prepared.parsed.ignored
    if prepared.origin.response is not None:
        payload["response"] = prepared.origin.response
    return payload


def completed(state: CallState, result: ToolResult) -> dict[str, Any]:
    """The payload of a `completed` row: what came of it and who cleared it by which rule."""
    verdict = state.clearance.verdict
    payload = {
        "tool": state.prepared.name,
        # Words, not members: the JSON is the same, and an enumeration takes as long as a text.
        "status": str(result.status),
        "is_error": result.is_error,
        "text": result.text,
        "data": result.data,
        "problem": result.problem.to_dict() if result.problem else None,
        "changes": [
            [change.path, change.operation, change.before_hash, change.after_hash]
            for change in result.changes
        ],
        "cleared": None if verdict is None else [str(verdict.effect), verdict.rule],
        "asked": state.clearance.asked,
        "meta": result.meta,
    }
    if state.clearance.answered_by is not None:
        payload["answered_by"] = state.clearance.answered_by
    if state.effects.recorded is not None:
        payload["effects"] = state.effects.recorded
    linked = [place.absolute for place in state.prepared.places.values() if place.via]
    if linked:
        # Where links led; they may lead elsewhere when the result is read again.
        payload["linked"] = linked
    if state.notes.hook_failures:
        payload["hook_failures"] = state.notes.hook_failures
    if state.clearance.rewritten:
        payload["rewritten"] = state.prepared.arguments
    return payload


def reads_of_call(state: CallState) -> dict[str, Any]:
    """What the model knows of files since this call, and which agent it is that knows."""
    return {"agent": state.prepared.call.agent, "files": dict(state.notes.reads)}


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
