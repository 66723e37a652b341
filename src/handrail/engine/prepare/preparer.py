"""The first half of a call: find the tool, parse and validate the arguments, resolve the paths,
work out footprint and risk. Reads files, changes nothing, asks nobody.

A failure is kept in `PreparedCall.problem`: a call that cannot be prepared still has its place in
a batch and in the record.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from handrail.core.call import ToolCall
from handrail.core.context import Session
from handrail.core.footprint import Footprint, Touch
from handrail.core.places import Place
from handrail.core.ports.machine import Files
from handrail.core.ports.plan_mode import ENTER, LEAVE
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.verdicts import Risk
from handrail.dialects.base import Translated, View, Vocabulary
from handrail.engine import messages
from handrail.engine.prepare.arguments import check_plain, parse_arguments
from handrail.engine.prepare.coerce import coerce, explain_errors
from handrail.engine.prepare.paths import call_footprint, resolve_direct, resolve_nested
from handrail.engine.prepare.prepared_call import (
    CallScope,
    ExecutorKind,
    ParsedArguments,
    PreparedCall,
)
from handrail.engine.principal import Principals
from handrail.engine.registry import Registry, ToolEntry, ToolOrigin
from handrail.policy.agents import AgentAccess, AgentAction

# A shown tool that leads to others: these may be called although no array names them.
DOORS: Final[Mapping[str, tuple[str, ...]]] = {ENTER: (LEAVE,)}
_NAME: Final = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+")


def callable_tools(shown: Iterable[str]) -> frozenset[str]:
    """Return the tools that a model may call that is shown these: they, and what they lead to."""
    names = set(shown)
    for name in tuple(names):
        names.update(DOORS.get(name, ()))
    return frozenset(names)


class DeclaredTools:
    """The canonical names that the last `declare` of each agent lets its model call.

    They bind the calls of a model's message. An agent that nothing was declared for, and a
    call that a program makes itself, are not bound.
    """

    def __init__(self) -> None:
        self._shown: dict[str, frozenset[str]] = {}

    def record(self, agent: str, tools: frozenset[str]) -> None:
        """Note what the model of an agent may call from now on."""
        self._shown[agent] = tools

    def allows(self, call: ToolCall, tool: str) -> bool:
        """Whether a call may name a tool, by its canonical name."""
        if not call.from_model:
            return True
        shown = self._shown.get(call.agent)
        return shown is None or tool in shown


def drop_hidden_names(problem: Problem, hidden: frozenset[str]) -> Problem:
    """The problem without its hint, if that names a tool that the caller was not shown.

    Only names with an underscore are looked for: the others are words of the language.
    """
    if problem.hint is None or hidden.isdisjoint(_NAME.findall(problem.hint)):
        return problem
    return replace(problem, hint=None)


_log = logging.getLogger("handrail")


class Preparer:
    """Prepares calls for one runtime."""

    def __init__(
        self,
        registry: Registry,
        vocabulary: Vocabulary,
        files: Files,
        session: Session,
        principals: Principals,
    ) -> None:
        self._registry = registry
        self._vocabulary = vocabulary
        self._files = files
        self._session = session
        self.principals = principals
        self.declared = DeclaredTools()

    def visible(self, agent: str, allowed: Collection[str] | None) -> Collection[str] | None:
        """The tools to declare to an agent: of those allowed, what it may call; None: all that
        the dialect shows.
        """
        access = self.principals.agents.of(agent)
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
        access, entry = self.principals.agents.of(agent), self._registry.entry
        return [name for name in self._registry.names if _open_to(access, entry(name))]

    def prepare(self, call: ToolCall) -> PreparedCall:
        """Prepare the call; never raises: what is wrong becomes the problem of the result."""
        prepared = PreparedCall(call, self.principals.of_call(call))
        self._capture_problem(prepared, self._parse_and_validate)
        return prepared

    def refuse(self, call: ToolCall, problem: Problem) -> PreparedCall:
        """The call with a problem that was found before its arguments were parsed."""
        return PreparedCall(call, self.principals.of_call(call), problem=problem)

    def re_resolve_paths(self, prepared: PreparedCall) -> None:
        """Resolve the paths again: earlier calls may have changed where they lead."""
        if prepared.problem is None:
            self._capture_problem(prepared, self._resolve)

    def _capture_problem(
        self, prepared: PreparedCall, step: Callable[[PreparedCall], None]
    ) -> None:
        try:
            step(prepared)
        except ProblemRaised as raised:
            prepared.problem = raised.problem
        except Exception as bug:  # noqa: BLE001 - a tool's own code, or a mapping that lies
            _log.exception("%s cannot be prepared", prepared.name)
            message = f"{prepared.name} cannot be prepared: {type(bug).__name__}: {bug}"
            prepared.problem = Problem("internal", message[:2000])

    def _parse_and_validate(self, prepared: PreparedCall) -> None:
        call = prepared.call
        if isinstance(call.arguments, str):
            given: Mapping[str, Any] = parse_arguments(call.arguments)
        elif not isinstance(call.arguments, Mapping):
            raise messages.ARGUMENTS_NOT_OBJECT.error(kind=type(call.arguments).__name__)
        else:
            check_plain(call.arguments)
            given = dict(call.arguments)
        try:
            view, prepared.entry = self._find(prepared)
            translated = self._vocabulary.translate(view, given)
        except ProblemRaised:
            prepared.parsed = ParsedArguments(given)
            raise
        prepared.parsed = _validated_or_coerced(translated, prepared.entry, view)
        self._resolve(prepared)
        self._check_writes(prepared)

    def _find(self, prepared: PreparedCall) -> tuple[View, ToolEntry]:
        call = prepared.call
        view = self._vocabulary.resolve(call.name)
        entry = self._registry.entry(call.name)
        # A tool of the user's own wins over another vocabulary's word for one of ours.
        own = entry is not None and entry.origin is not ToolOrigin.BUILTIN
        if view is None or (own and not self._vocabulary.shows(view)):
            view = self._vocabulary.shown(call.name)
        else:
            entry = self._registry.entry(view.tool)
        if entry is None or not self._open_to(prepared, entry):
            raise self._unknown(prepared, known=entry is not None)
        if not entry.tool.enabled(self._session):
            raise messages.TOOL_DISABLED.error(tool=call.name)
        return view, entry

    def _check_writes(self, prepared: PreparedCall) -> None:
        """An agent that may not change files may not let a command do it either: what its text
        shows is refused here, and the sandbox keeps it from writing anything else.
        """
        call, analysis, access = (
            prepared.call,
            prepared.footprint.command,
            prepared.principal.access,
        )
        if analysis is None or access is None or access.may(AgentAction.PATCH):
            return
        prepared.scope = prepared.scope._replace(writes_nothing=True)
        if analysis.effects.writes or analysis.unconfined:
            would = "leave the sandbox"
            if analysis.effects.writes:
                would = f"write {analysis.effects.writes[0]!r}"
            raise messages.AGENT_MAY_NOT_WRITE.error(agent=call.agent, would=would)

    def _open_to(self, prepared: PreparedCall, entry: ToolEntry | None) -> bool:
        """Whether the caller may use a tool: by the limits of its agent, and if it is a model,
        by what it was shown.
        """
        if entry is None or not _open_to(prepared.principal.access, entry):
            return False
        return self.declared.allows(prepared.call, entry.tool.name)

    def without_hidden_names(self, prepared: PreparedCall, problem: Problem) -> Problem:
        """The problem as its caller may read it: no hint names a tool that it cannot use."""
        if problem.hint is None:
            return problem
        hint = problem.hint
        hidden = frozenset(
            name
            for name in self._registry.names
            if name in hint and not self._open_to(prepared, self._registry.entry(name))
        )
        return drop_hidden_names(problem, hidden) if hidden else problem

    def _unknown(self, prepared: PreparedCall, *, known: bool) -> ProblemRaised:
        name = prepared.call.name
        shown = sorted(
            self._vocabulary.shown(tool.name).name
            for tool in self._registry.list_all()
            if self._open_to(prepared, self._registry.entry(tool.name))
            and tool.shown(self._session)
        )
        if not name:
            return messages.NO_TOOL_NAME.error(field="name")
        if known:
            listed = f"tools: {', '.join(shown)}"
            message = f"the tool {name!r:.200} is switched off here"
            return ProblemRaised("unknown_tool", message, hint=listed)
        close = get_close_matches(name[:100], shown, n=3, cutoff=0.6)
        hint = f"did you mean {' or '.join(close)}?" if close else f"tools: {', '.join(shown)}"
        return ProblemRaised("unknown_tool", f"there is no tool named {name!r:.200}", hint=hint)

    def _resolve(self, prepared: PreparedCall) -> None:
        entry, args = prepared.entry, prepared.args
        if entry is None:
            return
        files, touches = self._files, list[Touch]()
        places: Mapping[str, Place] = {}
        if entry.arguments.paths:
            places, touches = resolve_direct(entry, args, files)
        if entry.arguments.nested_paths is not None:
            nested, further = resolve_nested(entry, args, files)
            places, touches = {**places, **nested}, [*touches, *further]
        if entry.touches.only_paths:
            footprint = Footprint(tuple(touches))
        else:
            footprint = call_footprint(entry, args, touches, files)
        tool, kind = entry.tool, ExecutorKind.DIRECT
        if tool.plans:
            kind = ExecutorKind.PLAN
        elif footprint.command is not None:
            kind = ExecutorKind.COMMAND
        # A plan is shown to the user before it is committed; it is never only a read.
        reads_only = kind is not ExecutorKind.PLAN and footprint.reads_only
        risk = tool.risk(args)
        if risk is None:
            risk = Risk.SAFE if reads_only else Risk.MODERATE
        direct_read = reads_only and risk is Risk.SAFE and kind is ExecutorKind.DIRECT
        prepared.scope = CallScope(
            places,
            footprint,
            reads_only,
            risk,
            kind,
            direct_read and not tool.has_opinion,
            prepared.scope.writes_nothing,
        )


def _validated_or_coerced(translated: Translated, entry: ToolEntry, view: View) -> ParsedArguments:
    """The valid arguments, with harmless mistakes repaired; raises `invalid_arguments`."""
    arguments, ignored = translated.arguments, tuple(translated.ignored)
    try:
        model = entry.arguments.validate(arguments)
    except ValidationError:
        parsed = ParsedArguments(arguments, None, (), ignored, translated.spelled, view.openings)
        return _coerced(parsed, entry, view)
    return ParsedArguments(arguments, model, (), ignored, translated.spelled, view.openings)


def _coerced(parsed: ParsedArguments, entry: ToolEntry, view: View) -> ParsedArguments:
    """The arguments with harmless mistakes repaired; raises `invalid_arguments` for others."""
    repaired = coerce(entry.arguments.model, parsed.arguments)
    try:
        model = _validated(entry, repaired.arguments)
    except ValidationError as error:
        shown = view.shown_args(entry.arguments.schema.get("properties", ()))
        raise explain_errors(error, parsed.caller_names, [arg.name for arg in shown]) from error
    return parsed._replace(arguments=repaired.arguments, model=model, coerced=repaired.notes)


def _validated(entry: ToolEntry, arguments: Mapping[str, Any]) -> BaseModel:
    """The arguments as the tool takes them; raises pydantic's ValidationError."""
    try:
        return entry.arguments.validate(arguments)
    except ValidationError:
        try:
            # What JSON has no word for (a tuple, a date) is accepted in its JSON form.
            return entry.arguments.model.model_validate_json(json.dumps(arguments))
        except ValidationError:
            pass
        raise


def _open_to(access: AgentAccess | None, entry: ToolEntry | None) -> bool:
    if access is None or entry is None:
        return entry is not None
    return access.may_call(entry.tool.name, edits_files=entry.edits_files)
