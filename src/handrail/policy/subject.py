"""What is judged: a call by its derived properties, and its plan once there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from handrail.core.footprint import Access, Footprint
from handrail.core.plan import Plan
from handrail.core.verdicts import Risk


class Subject(NamedTuple):
    """A prepared call as the guards and the mode see it."""

    tool: str
    risk: Risk
    footprint: Footprint
    reads_only: bool
    plan: Plan | None
    edits_files: bool

    def written_paths(self) -> Iterator[str]:
        """Absolute paths that the call or its plan would write."""
        for touch in self.footprint.touches:
            kind, _, path = touch.key.partition(":")
            if touch.access is Access.WRITE and kind in ("file", "tree"):
                yield path
        if self.plan is not None:
            for change in self.plan.changes:
                yield change.place.absolute
