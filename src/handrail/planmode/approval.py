"""The user's approval of a queued call, valid for exactly what the user was shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from handrail.core.commands import CommandAnalysis
from handrail.core.plan import Plan


class ChangeShape(NamedTuple):
    """One change as it was shown: the path, its hash before and after, its permissions."""

    path: str
    before: str | None
    after: str | None
    mode: int | None


def change_shapes(plan: Plan | None) -> tuple[ChangeShape, ...]:
    """The changes of a plan."""
    changes = () if plan is None else plan.changes
    return tuple(
        ChangeShape(one.path, one.before_hash, one.after_hash, one.mode) for one in changes
    )


def call_fingerprint(
    name: str, arguments: Mapping[str, Any], analysis: CommandAnalysis | None
) -> str:
    """A hash that identifies a call: tool, arguments and, for a command, where and how it runs."""
    held = None if analysis is None else [analysis.cwd, analysis.unconfined, analysis.to_dict()]
    identity = json.dumps([name, arguments, held], sort_keys=True, default=repr)
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


class ApprovedSnapshot(NamedTuple):
    """A call as it is shown to the user."""

    fingerprint: str
    shapes: tuple[ChangeShape, ...]
    preview: str


@dataclass(slots=True)
class PlanApproval:
    """What the user approved of a queued call."""

    fingerprint: str
    shapes: frozenset[ChangeShape]
    # The hashes that earlier approved calls left the files with: a plan that starts from
    # there is the approved one.
    earlier_results: Mapping[str, str | None]
    # The call as it is now, if it is no longer what the user approved.
    changed_to: ApprovedSnapshot | None = None

    def covers(self, now: ApprovedSnapshot) -> bool:
        """Whether the approval is valid for the call as it is now; records the call in `changed_to`
        if not.
        """
        kept = all(one in self.shapes or self._follows(one) for one in now.shapes)
        if kept and now.fingerprint == self.fingerprint:
            return True
        self.changed_to = now
        return False

    def _follows(self, shape: ChangeShape) -> bool:
        return (
            shape.path in self.earlier_results and self.earlier_results[shape.path] == shape.before
        )
