"""What a crash had left, told by whichever command opens the workspace next, and for a day after
that by `handrail recover`: nobody should miss it because another command came first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.core.records import Store, Trace
    from handrail.engine.runtime import Runtime
    from handrail.history.recovery.unfinished_plans import RecoveredCall

_TOLD: Final = 3
_LOOKED_AT: Final = 500
_LATELY_NS: Final = 24 * 3_600 * 1_000_000_000


class EarlierRecovery(NamedTuple):
    """A call that an earlier opening could not make whole; `stands`: something of it can still
    be taken back.
    """

    recovered: RecoveredCall
    stands: bool


def warn_recovered(found: Sequence[RecoveredCall]) -> None:
    """A line for each on the error stream, and where to read of the others."""
    from handrail.cli.render.screen import one_line

    for one in found[:_TOLD]:
        output.warn(
            one_line(f"recovered: {one.tool} ({one.call_id}): {one.text}{recovery_hints(one)}")
        )
    if len(found) > _TOLD:
        output.warn(f"recovered: {len(found) - _TOLD} more; `handrail log` lists them")


def recovery_hints(one: RecoveredCall, *, stands: bool = True) -> str:
    """How to look at a call whose end nobody knows, and how to take it back."""
    if one.status != "unknown" or not one.whole:
        return ""
    take_back = f", `handrail undo --call {one.call_id}`" if stands and one.paths else ""
    return f"; `handrail show {one.call_id}`{take_back}"


async def recent_recoveries(rt: Runtime, root: str) -> list[EarlierRecovery]:
    """Calls of this folder that are unknown since an opening of the last day, newest first."""
    from handrail.history.undo.recorded_changes import UndoState
    from handrail.history.workspace_match import WorkspaceMatch, workspace_folders

    folders = workspace_folders(await rt.store.openings(), rt.session.id, root)
    fresh = {one.call_id for one in rt.recovered}
    standing, found = UndoState(), list[EarlierRecovery]()
    for trace in await rt.store.traces(limit=_LOOKED_AT):
        steps = standing.meet(trace)
        if (trace.completed or {}).get("status") != "unknown" or trace.call_id in fresh:
            continue
        if folders.where(trace.session, trace.at_ns) is WorkspaceMatch.ELSEWHERE:
            continue
        one = await _recovered(rt.store, trace)
        if one is not None:
            found.append(EarlierRecovery(one, bool(steps)))
    return found


async def _recovered(store: Store, trace: Trace) -> RecoveredCall | None:
    from handrail.history.recovery.unfinished_plans import RecoveredCall

    calls = await store.calls(session=trace.session, call_id=trace.call_id, limit=1)
    done = (calls[0].completed if calls else None) or {}
    ended_ns = (calls[0].completed_ns if calls else None) or 0
    lately = ended_ns > time.time_ns() - _LATELY_NS
    if not lately or not (done.get("meta") or {}).get("recovered"):
        return None
    paths = tuple((done.get("data") or {}).get("paths", ()))
    return RecoveredCall(
        trace.call_id, str(done["tool"]), "unknown", str(done["text"]), paths=paths
    )
