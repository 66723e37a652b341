"""The state of a running call: a few values that its steps write, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from handrail.core.context import ReadRecord, Session, ToolContext
from handrail.core.ports.leases import Lease
from handrail.core.problems import Problem
from handrail.core.results import ChangeRecord, Output, Status
from handrail.core.verdicts import Verdict
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.timing import CallTimer

if TYPE_CHECKING:
    from handrail.engine.hooking.callbacks import HookFailure
    from handrail.engine.registry import ToolEntry
    from handrail.history.before_images import Hashing
    from handrail.history.commit import CommitResidue

_REFUSALS: Final = frozenset(
    {
        "unknown_tool",
        "invalid_arguments",
        "outside_workspace",
        "protected",
        "denied",
        "needs_approval",
        "blocked",
        "budget_exceeded",
        "needs_answer",
        "untrusted",
        "duplicate_id",
        "store_unavailable",
    }
)


class Decision(Enum):
    """What happens to a call after policy has cleared it."""

    ALLOW = "allow"
    # A dry run: the call is described instead.
    DESCRIBE = "describe"
    # Plan mode: the call is queued for the user.
    QUEUE = "queue"


@dataclass(slots=True, eq=False, repr=False)
class Outcome:
    """How a call went, before it becomes a result."""

    status: Status
    output: Output

    @classmethod
    def from_problem(
        cls, problem: Problem, caller_names: Mapping[str, str] | None = None
    ) -> Outcome:
        """Return the outcome of a failed call; the problem's field gets the caller's name."""
        if caller_names and problem.field is not None and problem.field in caller_names:
            problem = replace(problem, field=caller_names[problem.field])
        if problem.code == "cancelled":
            status = Status.INTERRUPTED
        else:
            status = Status.REFUSED if problem.code in _REFUSALS else Status.FAILED
        return cls(status, Output(str(problem), problem=problem))

    @property
    def text(self) -> str:
        """The text for the model."""
        return self.output.text

    @property
    def problem(self) -> Problem | None:
        """Why the call did not succeed."""
        return self.output.problem

    def append(self, *lines: str) -> None:
        """Add lines to the text for the model."""
        if lines:
            self.output = self.output._replace(text="\n".join([self.output.text, *lines]))

    def add_meta(self, values: Mapping[str, Any]) -> None:
        """Add values for the program that made the call."""
        self.output = self.output._replace(meta={**self.output.meta, **values})


# Plain classes: every call makes one of each and leaves most values at their defaults, and the
# `__init__` of a dataclass sets all of them.


class CallClearance:
    """Why a call may run; written by policy, approval and hooks."""

    verdict: Verdict | None = None
    # Whether the user was asked, and the answer for the record.
    asked: bool = False
    answered_by: Mapping[str, Any] | None = None
    # The hash of what the user approved.
    binding: str | None = None
    # Objections of hooks that ask for approval.
    objections: tuple[Verdict, ...] = ()
    # The approval of a hook that is allowed to approve.
    hook_approval: Verdict | None = None
    # Whether a hook replaced the arguments.
    rewritten: bool = False


class CallEffects:
    """What a call changes; written by its executor, by planner and leases before it, and by the
    hooks that run after it.
    """

    changes: tuple[ChangeRecord, ...] = ()
    residue: CommitResidue | None = None
    # Hashes of large contents, computed while the call is being cleared.
    hashing: Hashing = ()
    # The snapshot of the files before a command.
    command_snapshot: Any = None
    # What a command changed, for the record.
    recorded: Mapping[str, Any] | None = None
    # Paths of other agents that a command must not write.
    foreign_leases: tuple[Lease, ...] = ()
    # How often the tool was run.
    attempts: int = 0


class CallNotes:
    """Notes that are reported with the outcome."""

    __slots__ = ("defect", "hook_failures", "hook_messages", "model_notes", "reads", "user_notes")

    def __init__(self) -> None:
        # For the model: what it had not seen of the files that it changes.
        self.model_notes: list[str] = []
        # For the model and the user.
        self.user_notes: list[str] = []
        # Messages of hooks that ran before the call.
        self.hook_messages: list[str] = []
        # Hooks that failed, for the record.
        self.hook_failures: list[HookFailure] = []
        # Files that the agent has read in this call, for the record of a named session.
        self.reads: dict[str, ReadRecord | None] = {}
        # The text of an exception of the tool, for the user: it is never shown to a model.
        self.defect: str | None = None


class CallState:
    """A running call."""

    __slots__ = ("clearance", "context", "effects", "notes", "outcome", "prepared", "timer")

    def __init__(self, prepared: PreparedCall, timer: CallTimer, context: ToolContext) -> None:
        self.prepared = prepared
        self.timer = timer
        self.context = context
        self.clearance = CallClearance()
        self.effects = CallEffects()
        self.notes = CallNotes()
        self.outcome: Outcome | None = None

    @property
    def key(self) -> str:
        """A key of the running call; ids alone may be used twice."""
        return f"{self.prepared.call.id} {id(self)}"


def known_entry(prepared: PreparedCall) -> ToolEntry:
    """The tool of a call that has passed `precheck`; raises LookupError for an unknown tool."""
    if prepared.entry is None:
        raise LookupError(f"there is no tool {prepared.call.name!r}")
    return prepared.entry


# The session and the notes of the call whose tool or hook runs in this context. Not the call's
# state, which a task that the tool leaves behind would keep alive.
current_call: ContextVar[tuple[Session, CallNotes] | None] = ContextVar(
    "handrail_call", default=None
)
