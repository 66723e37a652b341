"""A call that recovery has settled after a crash, and its row in the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from handrail.core.ports.records import CallRecord, Row
from handrail.core.text.listing import first_few

if TYPE_CHECKING:
    from handrail.history.command_effects.effects_report import EffectsReport

# Paths that are named in a text.
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class RecoveredCall:
    """What was done about one unfinished call."""

    call_id: str
    tool: str
    status: str
    text: str
    # False: it could not be made whole yet; the next opening tries again.
    whole: bool = True
    # What to look at, where the status is unknown.
    paths: tuple[str, ...] = ()


def completed_row(
    record: CallRecord,
    recovered: RecoveredCall,
    intent: Mapping[str, Any],
    report: EffectsReport | None,
    reads: Mapping[str, Any] | None,
    now_ns: int,
) -> Row:
    """Return the `completed` row of a call that recovery has settled. `reads` is what the model
    knows of files after a change that was complete.
    """
    described = intent["changes"] if recovered.status == "ok" else ()
    changes = [
        [one["path"], one["operation"], one["before_hash"], one["after_hash"]]
        for one in (report.changes if report is not None else described)
    ]
    problem = None
    if recovered.status != "ok":
        problem = {
            "code": "cancelled",
            "message": f"{recovered.tool}: {recovered.text}",
            "hint": _hint(recovered),
            "field": None,
            "retryable": False,
        }
    payload = {
        "tool": recovered.tool,
        "status": recovered.status,
        "is_error": recovered.status != "ok",
        "text": _result_text(recovered, intent),
        "data": intent.get("data", {"paths": list(recovered.paths)}),
        "problem": problem,
        "changes": changes,
        "cleared": None,
        "asked": False,
        "meta": {"recovered": True},
    }
    if reads is not None:
        payload["reads"] = reads
    if report is not None:
        payload["effects"] = report.to_record()
    return Row(record.session, "completed", record.call_id, record.turn, now_ns, payload)


def _hint(recovered: RecoveredCall) -> str | None:
    if recovered.status != "unknown":
        return None
    looking = (
        f"look at {first_few(recovered.paths, _LISTED)}"
        if recovered.paths
        else "look at what it changes"
    )
    return f"{looking}; to run it again, give the call a new id"


def _result_text(recovered: RecoveredCall, intent: Mapping[str, Any]) -> str:
    """What whoever made the call is told: of a complete change what it was told at once had
    Handrail not ended.
    """
    if recovered.status != "ok":
        return recovered.text
    done = intent.get("text") or "changed " + first_few(described_paths(intent["changes"]), _LISTED)
    return f"{done}\n[handrail: {recovered.text}]"


def described_paths(described: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(str(one["path"]) for one in described)
