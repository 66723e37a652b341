"""A person's yes to a call before it is made: good for exactly what they were shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from handrail.core.commands import CommandAnalysis
from handrail.core.plan import Plan


class ChangeShape(NamedTuple):
    """One change as it was shown: the file, its hash before and after, its permissions."""

    path: str
    before: str | None
    after: str | None
    mode: int | None


def change_shapes(plan: Plan | None) -> tuple[ChangeShape, ...]:
    """What a plan changes."""
    changes = () if plan is None else plan.changes
    return tuple(
        ChangeShape(one.path, one.before_hash, one.after_hash, one.mode) for one in changes
    )


def call_fingerprint(
    name: str, arguments: Mapping[str, Any], analysis: CommandAnalysis | None
) -> str:
    """What makes a call this call: tool, arguments, and for a command where and how it runs."""
    held = None if analysis is None else [analysis.cwd, analysis.unconfined, analysis.to_dict()]
    told = json.dumps([name, arguments, held], sort_keys=True, default=repr)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


class ApprovedSnapshot(NamedTuple):
    """A call as it can be shown to a person."""

    fingerprint: str
    shapes: tuple[ChangeShape, ...]
    preview: str


@dataclass(slots=True)
class PlanApproval:
    """What the person saw of a queued call. `built` is what calls approved before it have made
    of its files: a plan that starts from there is what was approved, in its place in the row.
    `drifted` is what the call had become, if it no longer was what they saw.
    """

    fingerprint: str
    shapes: frozenset[ChangeShape]
    earlier_results: Mapping[str, str | None]
    changed_to: ApprovedSnapshot | None = None

    def covers(self, now: ApprovedSnapshot) -> bool:
        """Whether the yes was to this."""
        kept = all(one in self.shapes or self._follows(one) for one in now.shapes)
        if kept and now.fingerprint == self.fingerprint:
            return True
        self.changed_to = now
        return False

    def _follows(self, shape: ChangeShape) -> bool:
        return (
            shape.path in self.earlier_results and self.earlier_results[shape.path] == shape.before
        )
