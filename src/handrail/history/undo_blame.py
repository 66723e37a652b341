"""Who changed a file that an undo wants to have as a call left it.

An undo and a redo bring back what somebody made before: that one is to be named, unless the
taking back itself is what changed the file.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from handrail.core.records import Trace
from handrail.history.past import Key, is_redo, is_undo, key_of, name_of, taken_by
from handrail.history.undo_compose import Gap, Way
from handrail.history.undo_lookup import Lookup


async def find_blame(lookup: Lookup, ways: Sequence[Way]) -> dict[str, str]:
    """For each file with a conflict the change of ours that it has, if it is one."""
    searches = {way.path: _Search(way.path, way.conflict) for way in ways if way.conflict}
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
class _Search:
    """Meets what happened, the newest first, from the upper end of a gap to its lower one.
    `name` is who is to blame so far; `until` are the calls below which to look on, because
    the file is as it was before them.
    """

    path: str
    gap: Gap
    name: str = ""
    until: set[Key] = field(default_factory=set)
    inside: bool = False
    over: bool = False

    def __post_init__(self) -> None:
        self.inside = self.gap.above is None

    def meet(self, trace: Trace, left: Set[tuple[str, str | None]]) -> None:
        """One more call, and how it left which files."""
        key = key_of(trace)
        if self.over or not self.inside:
            self.inside = self.inside or (self.gap.above is not None and key == self.gap.above.key)
        elif key == self.gap.below.key:
            self.over = True
        elif self.until:
            self._rise(key)
        elif (self.path, self.gap.digest) in left:
            self._blame(trace)

    def _rise(self, key: Key) -> None:
        self.until.discard(key)
        if not self.until:
            self.name = ""

    def _blame(self, trace: Trace) -> None:
        if not is_undo(trace):
            self.name, self.over = name_of(trace), True
            return
        self.name = f"{'redo' if is_redo(trace) else 'undo'} ({trace.call_id})"
        self.until = {one.key for one in taken_by(trace) if self.path in one.paths}
