"""A call while it is being carried out, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Final

from handrail.core.context import ReadRecord, Session
from handrail.core.events import Listener
from handrail.core.leases import Lease
from handrail.core.problems import Problem
from handrail.core.results import ChangeRecord, Image, Modifier, Output, Status
from handrail.core.verdicts import Verdict
from handrail.engine.hooking.callbacks import HookFailure
from handrail.engine.prepare.preparer import PreparedCall
from handrail.engine.timing.deadlines import CallTimer
from handrail.history.commit import CommitResidue
from handrail.history.hashing import Hashing

_REFUSALS: Final = frozenset(
    {
        "unknown_tool",
        "invalid_arguments",
        "outside_workspace",
        "protected",
        "denied",
        "needs_approval",
        "blocked",
        "duplicate_id",
        "store_unavailable",
    }
)


# The session whose tool is running in this context, for the doors that would deadlock there.
current_session: ContextVar[Session | None] = ContextVar("handrail_session", default=None)


@dataclass(slots=True)
class CallState:
    """What the steps of one call hand to each other. `notes` are for the model alone (what it
    did not know), `remarks` for the person as well.
    """

    prepared: PreparedCall
    watch: CallTimer
    listener: Listener | None
    verdict: Verdict | None = None
    asked: bool = False
    # What the person answered, by whom and which way, for the record.
    answered_by: Mapping[str, Any] | None = None
    approved: str | None = None
    changes: tuple[ChangeRecord, ...] = ()
    mess: CommitResidue | None = None
    # The hashes of large contents, which are worked out while the call is cleared.
    hashing: Hashing = ()
    # A command's look at the files before it, and what it changed, for the record.
    tracked: Any = None
    effects: Mapping[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    opinions: tuple[Verdict, ...] = ()
    rewritten: bool = False
    # How often its tool was run, where a failure may pass.
    attempts: int = 0
    # What others have reserved and the call's program could write nevertheless.
    reserved: tuple[Lease, ...] = ()
    # What the model knows of files since this call, where that is kept for a later run.
    reads: dict[str, ReadRecord | None] = field(default_factory=dict)
    # What hooks before the call said for the model, and the yes of one that may say it.
    words: list[str] = field(default_factory=list)
    # Hooks about the call that failed, for the record, also where that allows it.
    hook_failures: list[HookFailure] = field(default_factory=list)
    allowed: Verdict | None = None


@dataclass(slots=True)
class CallOutcome:
    """How a call went, before it becomes a result."""

    status: Status
    text: str
    display: str | None = None
    data: Any = None
    problem: Problem | None = None
    modifiers: tuple[Modifier, ...] = ()
    images: tuple[Image, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


def of_output(output: Output) -> CallOutcome:
    """A tool ran and this is what it said; TypeError if that is no output at all."""
    # Types are promises of the author's, and this is where they are held to them.
    if (
        type(output) is not Output
        or type(output.text) is not str
        or type(output.modifiers) is not tuple
        or type(output.images) is not tuple
    ):
        raise TypeError(f"it returned {output!r:.200}, which is not an Output with text")
    if not isinstance(output.meta, Mapping):
        raise TypeError(f"its meta is {output.meta!r:.200}, which is not a mapping")
    return CallOutcome(
        Status.OK if output.problem is None else Status.FAILED,
        output.text,
        output.display,
        output.data,
        output.problem,
        output.modifiers,
        output.images,
        output.meta,
    )


def of_problem(problem: Problem, spelled: Mapping[str, str] | None = None) -> CallOutcome:
    """The call did not do what was asked, and this is why, in the caller's own words."""
    if spelled and problem.field is not None and problem.field in spelled:
        problem = replace(problem, field=spelled[problem.field])
    if problem.code == "cancelled":
        status = Status.INTERRUPTED
    else:
        status = Status.REFUSED if problem.code in _REFUSALS else Status.FAILED
    return CallOutcome(status, str(problem), problem=problem)
