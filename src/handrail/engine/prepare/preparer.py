"""The first half of a call: understand it. Reads, but changes nothing and asks nobody.

name → tool, arguments → canonical, coerced, validated, paths resolved, footprint, risk.
What is wrong is kept in `PreparedCall.problem`: a call that cannot be understood still takes
its place in a batch and leaves its record.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from handrail.core.call import ToolCall
from handrail.core.context import Session
from handrail.core.footprint import NOTHING, Footprint, Touch
from handrail.core.places import Place
from handrail.core.ports import Files
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.tool import Tool
from handrail.core.verdicts import Risk
from handrail.dialects.base import View, Vocabulary
from handrail.engine.prepare.arguments import check_plain, parse_arguments
from handrail.engine.prepare.coerce import coerce, explain_errors
from handrail.engine.prepare.declared_tools import DeclaredTools, drop_hidden_names
from handrail.engine.prepare.paths import call_footprint, resolve_direct, resolve_nested
from handrail.engine.registry import Registry, ToolEntry, ToolOrigin
from handrail.planmode.approval import PlanApproval
from handrail.policy.agents import AgentAccess, AgentAction, Agents
from handrail.policy.loop_guard import BatchPosition

_log = logging.getLogger("handrail")


@dataclass(slots=True)
class PreparedCall:
    """A call that has been understood, or the reason why it cannot be."""

    call: ToolCall
    name: str
    arguments: Mapping[str, Any]
    entry: ToolEntry | None = None
    args: BaseModel | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    footprint: Footprint = NOTHING
    reads_only: bool = True
    # Whether a program that the call starts must not be able to change any file.
    writes_nothing: bool = False
    risk: Risk = Risk.SAFE
    coerced: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    spelled: Mapping[str, str] = field(default_factory=dict)
    openings: Mapping[str, str] = field(default_factory=dict)
    response: str | None = None
    given_id: bool = False
    promise: PlanApproval | None = None
    batch: BatchPosition | None = None
    # Why the call is refused unless it only reads: its message did not end with tool calls.
    only_reads: Problem | None = None
    problem: Problem | None = None

    @property
    def tool(self) -> Tool[Any]:
        """The tool of a call without a problem."""
        if self.entry is None:
            raise LookupError(f"{self.name!r} was never found")
        return self.entry.tool

    @property
    def attempts(self) -> int:
        """How often the call may be tried."""
        return 1 if self.entry is None else self.entry.attempts


class Preparer:
    """Prepares calls for one runtime; `agents` says which tools each agent may use."""

    def __init__(
        self,
        registry: Registry,
        vocabulary: Vocabulary,
        files: Files,
        session: Session,
        agents: Agents,
    ) -> None:
        self._registry = registry
        self._vocabulary = vocabulary
        self._files = files
        self._session = session
        self.agents = agents
        self.declared = DeclaredTools()

    def visible(self, agent: str, allowed: Collection[str] | None) -> Collection[str] | None:
        """The tools to declare to an agent: of those allowed, what it may call; None: all that
        the dialect shows.
        """
        access = self.agents.of(agent)
        if access is None:
            return allowed
        named = allowed
        if named is None:
            dialect = self._vocabulary.dialect
            named = [
                tool.name
                for tool in self._registry.list_all()
                if access.lists_tools or not dialect.hides(tool.name, tool.traits)
            ]
        found = [view.tool if (view := self._vocabulary.resolve(one)) else one for one in named]
        return [name for name in found if _open_to(access, self._registry.entry(name))]

    def callable_tools(self, agent: str) -> list[str]:
        """The canonical names of all tools that an agent may call."""
        access, entry = self.agents.of(agent), self._registry.entry
        names = [tool.name for tool in self._registry.list_all()]
        return [name for name in names if _open_to(access, entry(name))]

    def prepare(self, call: ToolCall) -> PreparedCall:
        """Understand the call; never raises."""
        prepared = PreparedCall(call, call.name, {})
        self._keep_problem(prepared, self._understand)
        return prepared

    def resolve_again(self, prepared: PreparedCall) -> None:
        """Look anew where the paths lead: earlier calls may have changed that."""
        if prepared.problem is None:
            self._keep_problem(prepared, self._resolve)

    def _keep_problem(self, prepared: PreparedCall, step: Callable[[PreparedCall], None]) -> None:
        try:
            step(prepared)
        except ProblemRaised as raised:
            prepared.problem = raised.problem
        except Exception as bug:  # noqa: BLE001 - a tool's own code, or a mapping that lies
            _log.exception("%s cannot be prepared", prepared.name)
            message = f"{prepared.name} cannot be prepared: {type(bug).__name__}: {bug}"
            prepared.problem = Problem("internal", message[:2000])

    def _understand(self, prepared: PreparedCall) -> None:
        call = prepared.call
        if isinstance(call.arguments, str):
            given: Mapping[str, Any] = parse_arguments(call.arguments)
        elif not isinstance(call.arguments, Mapping):
            raise ProblemRaised(
                "invalid_arguments",
                f"Invalid arguments: expected an object, got {type(call.arguments).__name__}",
            )
        else:
            check_plain(call.arguments)
            given = dict(call.arguments)
        prepared.arguments = given
        view, entry = self._find(call)
        prepared.name, prepared.entry = entry.tool.name, entry
        translated = self._vocabulary.translate(view, given)
        prepared.arguments = translated.arguments
        prepared.ignored = tuple(translated.ignored)
        prepared.spelled, prepared.openings = translated.spelled, view.openings
        try:
            prepared.args = entry.validate(translated.arguments)
        except ValidationError:
            self._repair(prepared, entry, view, translated.spelled)
        self._resolve(prepared)
        self._check_writes(prepared)

    def _find(self, call: ToolCall) -> tuple[View, ToolEntry]:
        view = self._vocabulary.resolve(call.name)
        entry = self._registry.entry(call.name)
        # A tool of the user's own wins over another vocabulary's word for one of ours.
        own = entry is not None and entry.origin is not ToolOrigin.BUILTIN
        if view is None or (own and not self._vocabulary.shows(view)):
            view = self._vocabulary.shown(call.name)
        else:
            entry = self._registry.entry(view.tool)
        if entry is None or not self._open_to(call, entry):
            raise self._unknown(call, known=entry is not None)
        if not entry.tool.enabled(self._session):
            raise ProblemRaised(
                "unavailable",
                f"{call.name!r} is disabled in current context",
                hint="use another tool",
            )
        return view, entry

    def _check_writes(self, prepared: PreparedCall) -> None:
        """An agent that may not change files may not let a command do it either: what its text
        shows is refused here, and the sandbox keeps it from writing anything else.
        """
        call, analysis = prepared.call, prepared.footprint.command
        access = None if analysis is None or call.by_person else self.agents.of(call.agent)
        if analysis is None or access is None or access.may(AgentAction.PATCH):
            return
        prepared.writes_nothing = True
        if analysis.effects.writes or analysis.unconfined:
            would = "leave the sandbox"
            if analysis.effects.writes:
                would = f"write {analysis.effects.writes[0]!r}"
            raise ProblemRaised(
                "denied",
                f"the agent {call.agent!r} may not change files, and the command would {would}",
                hint="only look, and say what should be changed",
            )

    def _open_to(self, call: ToolCall, entry: ToolEntry | None) -> bool:
        """Whether the caller may use a tool: by the limits of its agent, and if it is a model,
        by what it was shown.
        """
        access = None if call.by_person else self.agents.of(call.agent)
        if entry is None or not _open_to(access, entry):
            return False
        return self.declared.allows(call, entry.tool.name)

    def without_hidden_names(self, call: ToolCall, problem: Problem) -> Problem:
        """The problem as its caller may read it: no hint names a tool that it cannot use."""
        if problem.hint is None or call.by_person:
            return problem
        hidden = frozenset(
            tool.name
            for tool in self._registry.list_all()
            if not self._open_to(call, self._registry.entry(tool.name))
        )
        return drop_hidden_names(problem, hidden) if hidden else problem

    def _unknown(self, call: ToolCall, *, known: bool) -> ProblemRaised:
        name = call.name
        shown = sorted(
            self._vocabulary.shown(tool.name).name
            for tool in self._registry.list_all()
            if self._open_to(call, self._registry.entry(tool.name)) and tool.shown(self._session)
        )
        if not name:
            return ProblemRaised(
                "invalid_arguments", "the call names no tool", hint='give it a "name"', field="name"
            )
        if known:
            listed = f"tools: {', '.join(shown)}"
            message = f"the tool {name!r:.200} is switched off here"
            return ProblemRaised("unknown_tool", message, hint=listed)
        close = get_close_matches(name[:100], shown, n=3, cutoff=0.6)
        hint = f"did you mean {' or '.join(close)}?" if close else f"tools: {', '.join(shown)}"
        return ProblemRaised("unknown_tool", f"there is no tool named {name!r:.200}", hint=hint)

    def _repair(
        self, prepared: PreparedCall, entry: ToolEntry, view: View, spelled: Mapping[str, str]
    ) -> None:
        repaired = coerce(entry.params, prepared.arguments)
        try:
            prepared.args = _validated(entry, repaired.arguments)
        except ValidationError as error:
            shown = view.shown_args(entry.schema.get("properties", ()))
            raise explain_errors(error, spelled, [arg.name for arg in shown]) from error
        prepared.arguments = repaired.arguments
        prepared.coerced = repaired.notes

    def _resolve(self, prepared: PreparedCall) -> None:
        entry, args = prepared.entry, prepared.args
        if entry is None:
            return
        files, touches = self._files, list[Touch]()
        if entry.paths:
            prepared.places, touches = resolve_direct(entry, args, files)
        if entry.nested is not None:
            nested, further = resolve_nested(entry, args, files)
            prepared.places, touches = {**prepared.places, **nested}, [*touches, *further]
        if entry.only_paths:
            footprint = Footprint(tuple(touches))
        else:
            footprint = call_footprint(entry, args, touches, files)
        prepared.footprint = footprint
        # What a plan writes is seen by whoever is asked; it is never only a read.
        prepared.reads_only = not entry.plans and footprint.reads_only
        risk = entry.tool.risk(args)
        if risk is None:
            risk = Risk.SAFE if prepared.reads_only else Risk.MODERATE
        prepared.risk = risk


def _validated(entry: ToolEntry, arguments: Mapping[str, Any]) -> BaseModel:
    """The arguments as the tool takes them; raises pydantic's ValidationError."""
    try:
        return entry.validate(arguments)
    except ValidationError:
        try:
            # What JSON has no word for (a tuple, a date) is accepted in its JSON form.
            return entry.params.model_validate_json(json.dumps(arguments))
        except ValidationError:
            pass
        raise


def _open_to(access: AgentAccess | None, entry: ToolEntry | None) -> bool:
    if access is None or entry is None:
        return entry is not None
    return access.may_call(entry.tool.name, edits_files=entry.edits_files)
