"""Who changed a file that an undo wants to have as a call left it.

An undo and a redo bring back what somebody made before: that one is to be named, unless the
taking back itself is what changed the file.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from handrail.core.ports.records import Trace
from handrail.history.undo.call_lookup import CallLookup
from handrail.history.undo.file_revert import Conflict, FileRevert
from handrail.history.undo.recorded_changes import (
    CallKey,
    call_key,
    call_label,
    is_redo,
    is_undo,
    reverted_calls,
)


async def find_conflict_origins(lookup: CallLookup, ways: Sequence[FileRevert]) -> dict[str, str]:
    """For each file with a conflict the change of ours that it has, if it is one."""
    searches = {way.path: _OriginSearch(way.path, way.conflict) for way in ways if way.conflict}
    async for seen in lookup.scan():
        left = {
            (step.path, step.described.get("after_hash"))
            for step in seen.sure
            if step.path in searches
        }
        for one in searches.values():
            one.meet(seen.trace, left)
        if all(one.over for one in searches.values()):
            break
    return {path: one.name for path, one in searches.items() if one.name}


@dataclass(slots=True)
class _OriginSearch:
    """Meets what happened, the newest first, from the upper end of a gap to its lower one.
    `name` is who is to blame so far; `until` are the calls below which to look on, because
    the file is as it was before them.
    """

    path: str
    gap: Conflict
    name: str = ""
    until: set[CallKey] = field(default_factory=set)
    inside: bool = False
    over: bool = False

    def __post_init__(self) -> None:
        self.inside = self.gap.above is None

    def meet(self, trace: Trace, left: Set[tuple[str, str | None]]) -> None:
        """One more call, and how it left which files."""
        key = call_key(trace)
        if self.over or not self.inside:
            self.inside = self.inside or (self.gap.above is not None and key == self.gap.above.key)
        elif key == self.gap.below.key:
            self.over = True
        elif self.until:
            self._rise(key)
        elif (self.path, self.gap.digest) in left:
            self._blame(trace)

    def _rise(self, key: CallKey) -> None:
        self.until.discard(key)
        if not self.until:
            self.name = ""

    def _blame(self, trace: Trace) -> None:
        if not is_undo(trace):
            self.name, self.over = call_label(trace), True
            return
        self.name = f"{'redo' if is_redo(trace) else 'undo'} ({trace.call_id})"
        self.until = {one.key for one in reverted_calls(trace) if self.path in one.paths}
