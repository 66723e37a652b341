"""Reports recovered calls.

The first command after a crash prints them, and `handrail recover` lists them for one more day.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.core.ports.records import Store, Trace
    from handrail.engine.runtime import Runtime
    from handrail.history.recovered_call import RecoveredCall

_MAX_LISTED: Final = 3
_MAX_TRACES: Final = 500
_RECENT_NS: Final = 24 * 3_600 * 1_000_000_000


class EarlierRecovery(NamedTuple):
    """A call that was recovered when the workspace was opened earlier."""

    recovered: RecoveredCall
    stands: bool  # some of its changes can still be undone


def warn_recovered(calls: Sequence[RecoveredCall]) -> None:
    """Print a line for each of the first few on standard error."""
    from handrail.cli.render.screen import one_line

    for call in calls[:_MAX_LISTED]:
        output.warn(
            one_line(f"recovered: {call.tool} ({call.call_id}): {call.text}{recovery_hints(call)}")
        )
    if len(calls) > _MAX_LISTED:
        output.warn(f"recovered: {len(calls) - _MAX_LISTED} more; `handrail log` lists them")


def recovery_hints(call: RecoveredCall, *, stands: bool = True) -> str:
    """Return the commands that show and undo a call whose outcome is unknown."""
    if call.status != "unknown" or not call.whole:
        return ""
    undo = f", `handrail undo --call {call.call_id}`" if stands and call.paths else ""
    return f"; `handrail show {call.call_id}`{undo}"


async def recent_recoveries(rt: Runtime, root: str) -> list[EarlierRecovery]:
    """Return calls of this folder that recovery marked as unknown within a day, newest first."""
    from handrail.history.undo.recorded_changes import UndoState
    from handrail.history.workspace_match import WorkspaceMatch, workspace_folders

    folders = workspace_folders(await rt.store.openings(), rt.session.id, root)
    fresh = {call.call_id for call in rt.recovered}
    standing, recoveries = UndoState(), list[EarlierRecovery]()
    for trace in await rt.store.traces(limit=_MAX_TRACES):
        steps = standing.meet(trace)
        if (trace.completed or {}).get("status") != "unknown" or trace.call_id in fresh:
            continue
        if folders.where(trace.session, trace.at_ns) is WorkspaceMatch.ELSEWHERE:
            continue
        recovered = await _recovered(rt.store, trace)
        if recovered is not None:
            recoveries.append(EarlierRecovery(recovered, bool(steps)))
    return recoveries


async def _recovered(store: Store, trace: Trace) -> RecoveredCall | None:
    from handrail.history.recovered_call import RecoveredCall

    calls = await store.calls(session=trace.session, call_id=trace.call_id, limit=1)
    completed = (calls[0].completed if calls else None) or {}
    ended_ns = (calls[0].completed_ns if calls else None) or 0
    recent = ended_ns > time.time_ns() - _RECENT_NS
    if not recent or not (completed.get("meta") or {}).get("recovered"):
        return None
    paths = tuple((completed.get("data") or {}).get("paths", ()))
    return RecoveredCall(
        trace.call_id, str(completed["tool"]), "unknown", str(completed["text"]), paths=paths
    )
