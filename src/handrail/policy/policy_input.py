"""The input of every policy decision: the derived properties of a call, and its plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from handrail.core.footprint import Access, Footprint
from handrail.core.places import Place
from handrail.core.plan import Plan
from handrail.core.traits import ToolTraits
from handrail.core.verdicts import Risk

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalysis


class PolicyInput(NamedTuple):
    """A prepared call as guards, rules and modes see it.

    `places` are the path arguments. `confined`: the sandbox, as measured on this machine, confines the
    program that the call would run; `unenforced` are the properties that it lacks for that. `traits`
    are those of the tool. `deletes`: the plan may delete a file.
    """

    tool: str
    risk: Risk
    footprint: Footprint
    reads_only: bool
    plan: Plan | None
    edits_files: bool
    places: tuple[Place, ...] = ()
    confined: bool = False
    traits: ToolTraits = ToolTraits()
    deletes: bool = True
    unenforced: tuple[str, ...] = ()

    @property
    def command(self) -> CommandAnalysis | None:
        """The analysis of the command that the call would run; None if it runs none."""
        return self.footprint.command

    @property
    def changes_only_session(self) -> bool:
        """Whether the call can change nothing but Handrail's own jobs, agents and session."""
        if self.footprint.open_ended or self.plan is not None:
            return False
        return all(
            touch.access is Access.READ or touch.key.startswith(("job:", "session:", "agent:"))
            for touch in self.footprint.touches
        )

    def written_paths(self) -> Iterator[str]:
        """Yield the absolute paths that the call or its plan would write."""
        for touch in self.footprint.touches:
            kind, _, path = touch.key.partition(":")
            if touch.access is Access.WRITE and kind in ("file", "tree"):
                yield path
        if self.plan is not None:
            for change in self.plan.changes:
                yield change.place.absolute

    def written_aliases(self) -> Iterator[str]:
        """Yield the other absolute names of written paths: links, and the paths as they were given."""
        planned = [change.place for change in self.plan.changes] if self.plan is not None else []
        written: set[str] | None = None
        for place in (*self.places, *planned):
            if not place.via:
                continue
            if written is None:
                written = set(self.written_paths())
            if place.absolute in written:
                yield from place.via
