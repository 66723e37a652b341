"""A call after preparation: parsed, validated and resolved, or the problem that prevents it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from handrail.core.call import ToolCall
from handrail.core.effects import Effects
from handrail.core.footprint import NOTHING, Footprint
from handrail.core.names.caller_words import CallerWords
from handrail.core.places import Place
from handrail.core.problems import Problem
from handrail.core.tool import Tool
from handrail.core.verdicts import Risk
from handrail.engine.batch.loop_guard import BatchPosition
from handrail.engine.principal import Principal
from handrail.engine.registry import ToolEntry

if TYPE_CHECKING:
    from pydantic import BaseModel

    from handrail.planmode.approval import PlanApproval


class ExecutorKind(Enum):
    """How a call is carried out."""

    # The hash of an `Enum` member is computed in Python, and each call looks up its executor.
    __hash__ = object.__hash__

    PLAN = "plan"
    COMMAND = "command"
    DIRECT = "direct"


@dataclass(slots=True, eq=False)
class ParsedArguments:
    """The arguments of a call in canonical names; written by parsing and validation."""

    # As the caller gave them, coerced where needed.
    arguments: Mapping[str, Any]
    # As the tool takes them; None until they are valid.
    model: BaseModel | None = None
    # Notes about values that were coerced.
    coerced: tuple[str, ...] = ()
    # Arguments that were accepted but have no effect.
    ignored: tuple[str, ...] = ()
    # Maps canonical names to the names that the caller used.
    caller_names: Mapping[str, str] = field(default_factory=dict)
    # How the dialect begins a result: maps Handrail's first words to the dialect's.
    result_prefixes: Mapping[str, str] = field(default_factory=dict)
    # The names in which the caller is answered; None means the canonical ones.
    words: CallerWords | None = None


@dataclass(slots=True, eq=False)
class CallScope:
    """What a call touches; written by path resolution, and again when paths are re-resolved."""

    places: Mapping[str, Place] = field(default_factory=dict)
    footprint: Footprint = NOTHING
    reads_only: bool = True
    risk: Risk = Risk.SAFE
    kind: ExecutorKind = ExecutorKind.DIRECT
    # Whether the call is a plain read: its tool adds no risk, command, preflight or policy.
    plain_read: bool = False
    # Whether a program that the call starts must not be able to change any file.
    writes_nothing: bool = False


class CallOrigin:
    """The origin of a call; written by the code that accepts calls. A plain class, because most
    calls leave most values at their defaults.
    """

    # Whether the caller chose the id, so that a repeated call returns the recorded result.
    has_client_id: bool = False
    # The id of the provider's response that contained the call.
    response: str | None = None
    # The user's approval of the call while it was queued by plan mode.
    approval: PlanApproval | None = None
    # When the caller made the call, by the monotonic clock; None means when it began to run.
    made: float | None = None
    # The position in a batch; None for a call outside a batch.
    batch: BatchPosition | None = None
    # The refusal of a call that does not only read, because its message did not end with tool
    # calls.
    reads_only_because: Problem | None = None


_NO_ARGUMENTS: Final = ParsedArguments({})
_NO_SCOPE: Final = CallScope()


@dataclass(slots=True)
class PreparedCall:
    """A call that is ready to run, or that has a `problem`."""

    call: ToolCall
    # The caller, with the policy that applies.
    principal: Principal
    # The tool; None if the name is unknown.
    entry: ToolEntry | None = None
    parsed: ParsedArguments = _NO_ARGUMENTS
    scope: CallScope = _NO_SCOPE
    origin: CallOrigin = field(default_factory=CallOrigin)
    problem: Problem | None = None

    @property
    def name(self) -> str:
        """The canonical name of the tool, or the name in the call if there is no such tool."""
        return self.call.name if self.entry is None else self.entry.tool.name

    @property
    def tool(self) -> Tool[Any]:
        """The tool; raises LookupError for a call of an unknown tool."""
        if self.entry is None:
            raise LookupError(f"there is no tool {self.call.name!r}")
        return self.entry.tool

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments in canonical names."""
        return self.parsed.arguments

    @property
    def args(self) -> BaseModel | None:
        """The validated arguments."""
        return self.parsed.model

    @property
    def places(self) -> Mapping[str, Place]:
        """The resolved path arguments, by argument name."""
        return self.scope.places

    @property
    def footprint(self) -> Footprint:
        """Everything that the call touches."""
        return self.scope.footprint

    @property
    def reads_only(self) -> bool:
        """Whether the call only reads."""
        return self.scope.reads_only

    @property
    def changes_nothing(self) -> bool:
        """Whether the call only reads, or only leads to calls that are judged separately."""
        tool = self.tool
        return self.reads_only or (tool.leads_to_calls and tool.effects == Effects.SESSION)

    @property
    def risk(self) -> Risk:
        """How much harm the call could do."""
        return self.scope.risk
