"""The base class of tools."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Awaitable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeVar

from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects, changes_anything
from handrail.core.footprint import NOTHING, OPEN_ENDED, Footprint
from handrail.core.plan import Plan
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.traits import ToolTraits
from handrail.core.verdicts import Risk, Verdict

if TYPE_CHECKING:
    from pydantic import BaseModel

P = TypeVar("P", bound="BaseModel")
# Names that every provider accepts for a function.
TOOL_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class Group(StrEnum):
    """The kind of a tool, for choosing which tools are declared."""

    SEARCH = "search"
    EDIT = "edit"
    EXEC = "exec"
    SUBTASK = "subtask"
    META = "meta"
    WEB = "web"
    MCP = "mcp"
    TASK = "task"
    PLAN = "plan"


Keep = Literal["end", "start", "both"]


class Tool(ABC, Generic[P]):
    """One capability. A tool implements `plan` (it changes files) or `run` (anything else).

    Neither `plan` nor `run` may change a file of the workspace: a tool that wants a change
    returns it as a Plan and the engine commits it. Raise `ProblemRaised` to refuse.
    """

    name: str
    summary: str
    params: type[P]
    # The widest effects of any call; a tool without them is not registered.
    effects: Effects | None = None
    # What permission rules, dialects and the command line know about the tool.
    traits: ToolTraits = ToolTraits()
    group: Group = Group.META
    # No call can do harm, although calls change the state of the session.
    always_safe: bool = False
    # Calls use the network only to fetch something.
    fetches_only: bool = False
    # A call of this tool causes other calls, each with its own effects.
    leads_to_calls: bool = False
    idempotent: bool = False
    # How often a call is attempted if it fails with a transient error; requires `idempotent`.
    max_attempts: int = 1
    # Repeated calls with the same arguments are the normal use of the tool.
    polls: bool = False
    # Path arguments may be handles of earlier results (`output:<call id>`).
    reads_outputs: bool = False
    timeout_s: float | None = 120.0
    max_chars: int = 30_000
    keep: Keep = "end"
    output_schema: dict[str, Any] | None = None
    # The JSON Schema of the arguments, for tools that have no model of them. A string with
    # "x-handrail-path": "read", "write" or "tree" is a path argument.
    raw_schema: dict[str, Any] | None = None
    # Set for each subclass: whether it implements `plan`, `preflight` and `opinion`.
    plans: ClassVar[bool] = False
    has_preflight: ClassVar[bool] = False
    has_opinion: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.plans = cls.plan is not Tool.plan
        cls.has_preflight = cls.preflight is not Tool.preflight
        cls.has_opinion = cls.opinion is not Tool.opinion

    def footprint(self, args: P) -> Footprint | None:
        """What this call will touch; None: its path arguments, and whatever else `effects` declares.

        A footprint may be smaller than `effects`; a call with a larger one is refused. The path arguments
        of the call are always added. May resolve paths, but must not read or change anything.
        """
        del args
        if self.effects is not None and Effects.OPEN_ENDED in self.effects:
            return OPEN_ENDED
        return NOTHING if self.effects is Effects.PURE else None

    def risk(self, args: P) -> Risk | None:
        """How much harm the call could do; None: safe if it only reads, otherwise moderate."""
        del args
        return Risk.SAFE if self.always_safe else None

    def opinion(self, args: P) -> Verdict | None:
        """The tool's own verdict on the call, ASK or DENY; None if it does not object. It is combined
        with those of guards, rules and hooks; an ALLOW has no effect.
        """
        del args
        return None

    def enabled(self, session: Session) -> bool:
        """Whether the tool can be used in this session."""
        del session
        return True

    def shown(self, session: Session) -> bool:
        """Whether the tool is declared to models; by default whether it is enabled."""
        return self.enabled(session)

    def describe(self, session: Session) -> str | Awaitable[str]:
        """The description for models. Built-in tools read it from the file beside the code."""
        del session
        return self.summary

    @property
    def only_reads(self) -> bool:
        """Whether no call of this tool can change anything, whatever its arguments."""
        if self.plans or self.effects is None:
            return False
        return not changes_anything(self.effects)

    @property
    def changes_files(self) -> bool:
        """Whether a call, or a call that it causes, may change more than the session."""
        if self.plans or self.leads_to_calls or self.effects is None:
            return True
        harmless = Effects.PURE | Effects.READS_PATHS | Effects.SESSION
        harmless |= Effects.NETWORK if self.fetches_only else Effects(0)
        return bool(self.effects & ~harmless)

    @property
    def sensitive(self) -> bool:
        """Whether a call of this tool may have a risk above safe, so that some modes ask the user."""
        return not (self.only_reads or self.always_safe)

    def get_schema(self) -> dict[str, Any]:
        """The tool under its own names, in the form of OpenAI's function tools."""
        import json

        from handrail.core.arguments.schema import json_schema

        parameters = self.raw_schema or json_schema(self.params)
        # Descriptions mark the names of arguments and tools, because dialects replace them.
        named = re.sub(r"\[\[(?:tool:)?(\w+)\]\]", r"\1", json.dumps(parameters))
        function = {
            "name": self.name,
            "description": self.summary,
            "parameters": json.loads(named),
        }
        return {"type": "function", "function": function}

    def argument_model(self) -> type[BaseModel]:
        """The model of the arguments: `params`, or a model made from `raw_schema`."""
        if self.raw_schema is None:
            return self.params
        from handrail.core.arguments.schema import model_from_schema

        return model_from_schema(self.name, self.raw_schema)

    def validate_args(self, arguments: Mapping[str, Any]) -> BaseModel:
        """Validate arguments; returns the model, raises pydantic's ValidationError."""
        return self.argument_model().model_validate(arguments)

    def forward(self, args: P) -> tuple[str, Mapping[str, Any]]:
        """The name and arguments of the call that is made instead; for `traits.forwards_to`."""
        raise TypeError(f"{self.name} forwards no calls")

    async def preflight(self, args: P, ctx: ToolContext) -> None:
        """Raise `ProblemRaised` if the call cannot work; runs before the user is asked."""

    async def plan(self, args: P, ctx: ToolContext) -> Plan:
        """The changes that this call wants to make."""
        raise TypeError(f"{self.name} has no plan")

    async def run(self, args: P, ctx: ToolContext) -> Output:
        """Carry out the call and return its output."""
        raise TypeError(f"{self.name} has no run")

    def preview(self, args: P) -> str:
        """What the user is shown for approval of a call that has neither a plan nor a command."""
        del args
        return ""

    def render_call(self, args: P) -> str | None:
        """One line for the user that describes the call; None: a generic line is used."""
        del args
        return None


def check_name_list(names: object, field: str) -> None:
    """Raise `invalid_arguments` if a string was given in place of a list of names: a string is also a
    collection, of characters.
    """
    if isinstance(names, str):
        raise ProblemRaised(
            "invalid_arguments",
            f"{field} is a list of names, not one text",
            hint=f"write {field}=[{names!r:.200}]",
            field=field,
        )
