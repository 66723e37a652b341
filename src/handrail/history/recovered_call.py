"""Calls that recovery has completed after a crash, their rows in the record, and calls whose cleanup is
pending.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from handrail.core.call import MAIN_AGENT, reader_name
from handrail.core.context import ReadRecord
from handrail.core.places import Form
from handrail.core.ports.machine import Clock, Files
from handrail.core.ports.records import CallRecord, OpenRequest, Row, Store
from handrail.core.text.listing import first_few
from handrail.history.undo.file_revert import read_current_file

if TYPE_CHECKING:
    from handrail.history.command_effects.effects_report import EffectsReport

_TEXT: Final = "the call was interrupted before it changed anything; Handrail ended meanwhile"

# The name under which states are stored that belong to no session; no session has an empty name.
NO_SESSION: Final = ""
# Prefix of the keys of states about background jobs.
JOB_PREFIX: Final = "job: "
_PREFIX: Final = "given up: "

# The number of paths that a text names.
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class RecoveredCall:
    """The result of the recovery of one unfinished call."""

    call_id: str
    tool: str
    status: str
    text: str
    # False: the call could not be repaired yet; the next opening of the workspace tries again.
    whole: bool = True
    # The paths to check, if the status is unknown.
    paths: tuple[str, ...] = ()


def completed_row(
    record: CallRecord,
    recovered: RecoveredCall,
    intent: Mapping[str, Any],
    report: EffectsReport | None,
    reads: Mapping[str, Any] | None,
    now_ns: int,
) -> Row:
    """The `completed` row of a call that recovery has completed. `reads` is what the model has seen of
    files after a complete change.
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
            "message": recovered.text,
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
    """The text of the result; for a complete change, the text that it would have had."""
    if recovered.status != "ok":
        return recovered.text
    done = intent.get("text") or "changed " + first_few(described_paths(intent["changes"]), _LISTED)
    return f"{done}\n[handrail: {recovered.text}]"


def described_paths(described: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(str(one["path"]) for one in described)


async def close_abandoned_sessions(
    store: Store, clock: Clock, is_alive: Callable[[str], bool]
) -> None:
    """Record an end for the calls that dead processes requested and never started, then close their
    sessions. The id of such a call may be used again, because nothing was done.
    """
    found = await store.abandoned(is_alive)
    for request in found.requests:
        store.append(_interrupted_row(request, clock.now_ns()))
    if found.requests:
        await store.flush()
    if found.requests or found.to_close:
        await store.close_abandoned(is_alive)


def _interrupted_row(request: OpenRequest, now_ns: int) -> Row:
    payload: dict[str, Any] = {
        "tool": request.tool,
        "status": "interrupted",
        "is_error": True,
        "text": _TEXT,
        "data": None,
        "problem": {
            "code": "cancelled",
            "message": _TEXT,
            "hint": "call again; the same id may be used",
            "field": None,
            "retryable": True,
        },
        "changes": [],
        "cleared": None,
        "asked": False,
        "meta": {"interrupted": True},
        "not_started": True,
    }
    return Row(request.session, "completed", request.call_id, request.turn, now_ns, payload)


def mark_pending_cleanup(store: Store, session: str, call_id: str) -> None:
    """Record that a call has ended and may have left temporary files."""
    store.save_state(NO_SESSION, _key(session, call_id), True)


def clear_pending_cleanup(store: Store, session: str, call_id: str) -> None:
    """Record that nothing of a call is left."""
    store.save_state(NO_SESSION, _key(session, call_id), None)


async def list_pending_cleanup(store: Store) -> set[tuple[str, str]]:
    """Session and id of the calls that may have left temporary files."""
    found = await store.load_state(NO_SESSION)
    keys = [key for key, value in found.items() if value and key.startswith(_PREFIX)]
    return {(one, other) for one, other in (json.loads(key[len(_PREFIX) :]) for key in keys)}


def _key(session: str, call_id: str) -> str:
    return _PREFIX + json.dumps([session, call_id])


def describe_reads(
    record: CallRecord, intent: Mapping[str, Any], files: Files, now_s: float
) -> dict[str, Any] | None:
    """The reads for the `completed` row of a call whose changes are complete: the records of files that it
    wrote as a whole, and the hashes before and after of edited files. None if the intent has no
    `relies_on`.
    """
    if "relies_on" not in intent:
        return None
    known: dict[str, Any] = {}
    edited: dict[str, Any] = {}
    for change in intent["changes"]:
        now = read_current_file(str(change["path"]), files)
        if change["after_hash"] is None:
            known[now.place.absolute] = None
        elif now.unsupported or now.form is not Form.FILE or now.seen is None:
            continue
        elif intent["relies_on"] == "all" or change["before_hash"] is None:
            seen = ReadRecord(now_s, 1, 0, now.seen, True, change["after_hash"])
            known[now.place.absolute] = seen
        else:
            edited[now.place.absolute] = [change["before_hash"], now.seen, change["after_hash"]]
    asked = record.requested
    reader = reader_name(asked.get("agent", MAIN_AGENT), asked.get("conversation", ""))
    return {"agent": reader, "files": known, "edited": edited}
