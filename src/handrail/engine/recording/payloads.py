"""What is written down of a call, and a result read back from it. Shapes are append-only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handrail.core.problems import Problem
from handrail.core.records import CallRecord
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
