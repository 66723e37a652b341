"""The first half of a call: find the tool, parse and validate the arguments, resolve the paths,
work out footprint and risk. Reads files, changes nothing, does not ask the user.

A failure is kept in `PreparedCall.problem`: such a call still has its place in a batch and the record.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from handrail.core.call import ToolCall, check_call_id
from handrail.core.context import Session
from handrail.core.effects import Effects
from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.names.caller_words import CallerWords, current_words
from handrail.core.outputs import OUTPUT_PREFIX
from handrail.core.paths import PathUse
from handrail.core.places import Place
from handrail.core.ports.machine import Files
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.tool import Tool
from handrail.core.verdicts import Risk
from handrail.dialects.base import NOTHING, View, ViewTable, Vocabulary
from handrail.dialects.canonical import CANONICAL
from handrail.engine import messages
from handrail.engine.prepare.paths import (
    call_footprint,
    check_agent_writes,
    output_touch,
    resolve_nested,
    tree_touch,
)
from handrail.engine.prepare.prepared_call import (
    CallScope,
    ExecutorKind,
    ParsedArguments,
    PreparedCall,
)
from handrail.engine.prepare.visibility import ToolVisibility
from handrail.engine.principal import CallPolicy, Principal
from handrail.engine.registry import Registry, ToolEntry, ToolOrigin
from handrail.policy.agents import Agents
from handrail.policy.approval.grants import SessionGrants

_log = logging.getLogger("handrail")
# Globals, because an access through the class takes long in Python 3.11.
_TREE, _READ_PATH, _READ, _SAFE = PathUse.TREE, PathUse.READ, Access.READ, Risk.SAFE
_DIRECT, _PLAN = ExecutorKind.DIRECT, ExecutorKind.PLAN
_CONSTANTS: Final = frozenset({bool, type(None)})
# Names under which tools were called are remembered up to this number.
_MOST_NAMES: Final = 1_024
_MOST_AGENTS: Final = 256


class CallIds:
    """Gives out call ids and turn numbers. Grants for one turn end when the next turn begins."""

    def __init__(self, prefix: str, first_turn: int, grants: SessionGrants) -> None:
        # Generated ids must be new even if a named session continues in another process.
        self._prefix = prefix
        self._ids = itertools.count(1)
        self._next_turn = first_turn
        self._turn: ContextVar[int | None] = ContextVar("handrail_turn", default=None)
        self._grants = grants

    def make_call(
        self, id: Any, name: Any, arguments: Mapping[str, Any] | str | None, turn: int, agent: str
    ) -> ToolCall:
        """A call, with a new id if it has none. Raises `invalid_arguments` for an invalid id."""
        call_id = check_call_id(id) if id is not None else f"{self._prefix}.{next(self._ids)}"
        given = {} if arguments is None else arguments
        return ToolCall(call_id, "" if name is None else str(name), given, turn, agent)

    def fresh_id(self) -> str:
        """An id that no call has."""
        return f"{self._prefix}.{next(self._ids)}"

    def repeated_id(self, given: str) -> str:
        """A unique id for a call whose own id belongs to an earlier one."""
        return f"{given}#{self.fresh_id()}"

    def turn(self) -> int:
        """The turn of a call that is made in this context: the enclosing turn, or a new one."""
        current = self._turn.get()
        return current if current is not None else self._new_turn()

    def begin_turn(self, at_least: int) -> int:
        """The turn of the next message of a conversation whose turns so far are below `at_least`: a
        new one, unless the conversation is inside a turn.
        """
        if self._turn.get() is None:
            self._next_turn = max(self._next_turn, at_least)
        return max(self.turn(), at_least)

    @contextmanager
    def same_turn(self) -> Iterator[int]:
        """One turn for all calls made inside; follows the calling thread or task."""
        number = self._new_turn()
        token = self._turn.set(number)
        try:
            yield number
        finally:
            self._turn.reset(token)

    def _new_turn(self) -> int:
        if self._grants.has_turn_grants:
            self._grants.end_turn()
        self._next_turn += 1
        return self._next_turn - 1


class Principals:
    """Chooses the principal of each call."""

    def __init__(self, agents: Agents, agent_policy: CallPolicy, user_policy: CallPolicy) -> None:
        self.agents = agents
        self._agent_policy = agent_policy
        self._user = Principal(user_policy, None, None)
        # Valid for one state of the agents' limits.
        self._known: dict[str, Principal] = {}
        self._version = agents.version

    def of_call(self, call: ToolCall) -> Principal:
        """The user for what they do themselves, else the agent that the call names."""
        if call.by_person:
            return self._user
        if self._version != self.agents.version or len(self._known) > _MOST_AGENTS:
            self._known, self._version = {}, self.agents.version
        known = self._known.get(reader := call.reader if call.conversation else call.agent)
        if known is None:
            access, chain = self.agents.of(call.agent), self.agents.chain(call.agent)
            known = Principal(self._agent_policy, access, reader, chain)
            self._known[reader] = known
        return known


class CallTarget(NamedTuple):
    """The tool that a name means, and how its arguments are translated."""

    view: View
    table: ViewTable
    entry: ToolEntry
    # How the dialect of the caller shows the tool.
    shown: View


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
        self.files = files
        self.principals = principals
        self.visibility = ToolVisibility(registry, vocabulary, session, principals.agents)
        # By the name that was called; valid for one state of the registry.
        self._targets: dict[str, CallTarget] = {}
        self._version = registry.version

    @property
    def actions(self) -> frozenset[str]:
        """The tools that a model may call in the text of its reply."""
        return self._vocabulary.dialect.actions

    def prepare(self, call: ToolCall) -> PreparedCall:
        """Prepare the call; never raises: what is wrong becomes the problem of the result."""
        prepared = PreparedCall(call, self.principals.of_call(call))
        self._capture_problem(prepared, self._parse_and_validate)
        return prepared

    def refuse(self, call: ToolCall, problem: Problem) -> PreparedCall:
        """The call with a problem that was found before its arguments were parsed."""
        return PreparedCall(call, self.principals.of_call(call), problem=problem)

    def tool_effects(self, name: str) -> Effects | None:
        """The widest effects of the tool that a name means; None if there is no such tool."""
        target = self._look_up(name)
        return None if target is None else target.entry.touches.effects

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
            name, reference, kind = prepared.call.name, prepared.call.id, type(bug).__name__
            _log.exception("%s cannot be prepared (reference %s)", prepared.name, reference)
            template = messages.TOOL_NOT_PREPARED
            prepared.problem = template.fill(tool=name, kind=kind, reference=reference)

    def _parse_and_validate(self, prepared: PreparedCall) -> None:
        given: Mapping[str, Any] = plain_arguments(prepared.call)
        raw = given
        # Arguments that turn out to be invalid are recorded too.
        parsed = prepared.parsed = ParsedArguments(given)
        target = self._find(prepared)
        prepared.entry, table = target.entry, target.table
        spelled = table.spelled
        if table.completes or not given.keys().isdisjoint(table.foreign):
            given, unused, spelled = self._vocabulary.translate(target.view, given)
            parsed.arguments, parsed.ignored = given, tuple(unused)
        words = None
        if spelled or self._vocabulary.dialect.name != CANONICAL.name:
            words = self._vocabulary.caller_words(target.view, target.shown, spelled, raw)
        token = None if words is None else current_words.set(words)
        try:
            prepared.parsed = _validated(target, given, parsed.ignored, words)
            if words is not None:
                target.shown.check_limits(given, prepared.parsed.model)
            if target.entry.tool.traits.forwards_to is None:
                self._resolve(prepared)
            command = prepared.scope.footprint.command
            if command is not None and prepared.principal.access is not None:
                check_agent_writes(prepared)
        finally:
            if token is not None:
                current_words.reset(token)
        if target.entry.tool.traits.forwards_to is not None:
            self._unwrap(prepared, target.entry.tool)

    def _unwrap(self, prepared: PreparedCall, door: Tool[Any]) -> None:
        """Prepare the call that the call of a forwarding tool names, in place of it."""
        name, arguments = door.forward(prepared.parsed.model)
        inner = self._look_up(name)
        if inner is None or not inner.entry.tool.name.startswith(str(door.traits.forwards_to)):
            raise messages.NOT_FORWARDED.error(tool=name[:200], door=door.name, field="tool")
        prepared.call = prepared.call._replace(name=inner.entry.tool.name, arguments=arguments)
        prepared.entry, prepared.parsed = None, ParsedArguments(arguments)
        self._parse_and_validate(prepared)

    def _find(self, prepared: PreparedCall) -> CallTarget:
        """The tool of a call; raises `unknown_tool` if there is none that the caller may use."""
        call = prepared.call
        if self._version != self._registry.version:
            self._targets, self._version = {}, self._registry.version
        target = self._targets.get(call.name) or self._look_up(call.name)
        if target is None:
            raise self.visibility.unknown_tool(prepared, exists=False)
        entry = target.entry
        limited = call.from_model or prepared.principal.access is not None
        if limited and not self.visibility.allows(prepared, entry, target.view):
            raise self.visibility.unknown_tool(prepared, exists=True)
        bound = entry.conditional and not call.by_person  # The user's own commands always run.
        if bound and not entry.tool.enabled(self.visibility.session):
            raise messages.TOOL_DISABLED.error(tool=call.name)
        return target

    def _look_up(self, name: str) -> CallTarget | None:
        view = self._vocabulary.resolve(name)
        entry = self._registry.entry(name)
        # A tool of the user's own wins over another vocabulary's word for a built-in tool.
        own = entry is not None and entry.origin is not ToolOrigin.BUILTIN
        if view is None or (own and not self._vocabulary.shows(view)):
            view = self._vocabulary.shown(name)
        else:
            entry = self._registry.entry(view.tool)
        if entry is None:
            entry = self._registry.resolve(name)
            if entry is None:
                return None
            view = self._vocabulary.shown(entry.tool.name)
        vocabulary = self._vocabulary
        shown = view if vocabulary.shows(view) else vocabulary.shown(view.tool)
        target = CallTarget(view, vocabulary.table(view), entry, shown)
        # Bounded: models make up spellings.
        if len(self._targets) < _MOST_NAMES:
            self._targets[name] = target
        return target

    def _resolve(self, prepared: PreparedCall) -> None:
        """Resolve a call's paths and its footprint; raises what `Files.locate` raises."""
        entry, args, files = prepared.entry, prepared.parsed.model, self.files
        if entry is None:
            return
        places: dict[str, Place] = {}
        touches: list[Touch] = []
        for name, use in entry.arguments.paths:
            if (given := getattr(args, name)) is None:
                continue
            if given.startswith(OUTPUT_PREFIX):
                # The handle of an earlier result has no place.
                touches.append(output_touch(entry, name, given))
                continue
            place = places[name] = files.locate(given)
            if use is _TREE:
                touches.append(tree_touch(name, place))
            else:
                access = _READ if use is _READ_PATH else Access.WRITE
                touches.append(Touch(f"file:{place.absolute}", access))
        if entry.arguments.nested_paths is not None:
            resolve_nested(entry, args, files, places, touches)
        if entry.touches.only_paths:
            footprint = Footprint(tuple(touches))
        else:
            footprint = call_footprint(entry, args, touches, files)
        prepared.scope = _scope(entry, args, places, footprint, prepared.scope)


def _scope(
    entry: ToolEntry,
    args: Any,
    places: Mapping[str, Place],
    footprint: Footprint,
    earlier: CallScope,
) -> CallScope:
    tool, kind = entry.tool, _DIRECT
    if tool.plans:
        kind = _PLAN
    elif footprint.command is not None:
        kind = ExecutorKind.COMMAND
    # A plan is shown to the user before it is committed; it is never only a read.
    reads_only = kind is not _PLAN and (entry.touches.reads_only or footprint.reads_only)
    risk = tool.risk(args) if entry.rates_risk else None
    if risk is None:
        risk = _SAFE if reads_only else Risk.MODERATE
    safe_read = reads_only and risk is _SAFE and kind is _DIRECT
    plain = safe_read and not tool.has_opinion and not tool.has_preflight
    return CallScope(places, footprint, reads_only, risk, kind, plain, earlier.writes_nothing)


def plain_arguments(call: ToolCall) -> dict[str, Any]:
    """A copy of the arguments, which could have come from JSON text; raises `invalid_arguments`."""
    if isinstance(call.arguments, str):
        from handrail.engine.prepare.arguments import parse_arguments

        return parse_arguments(call.arguments)
    # Most arguments are a dict; an abstract class takes longer to say so.
    if type(call.arguments) is not dict and not isinstance(call.arguments, Mapping):
        raise messages.ARGUMENTS_NOT_OBJECT.error(kind=type(call.arguments).__name__)
    given = dict(call.arguments)
    for key, value in given.items():
        kind = type(value)
        # Most arguments are short ASCII texts, constants or numbers, which JSON can always hold.
        if type(key) is not str or not key.isascii():
            break
        if not (
            (kind is str and value.isascii())
            or kind in _CONSTANTS
            or (kind is int and -(2**63) <= value < 2**63)
        ):
            break
    else:
        return given
    from handrail.engine.prepare.arguments import check_plain

    check_plain(given)
    return given


def _validated(
    target: CallTarget,
    given: Mapping[str, Any],
    ignored: tuple[str, ...],
    words: CallerWords | None,
) -> ParsedArguments:
    """The valid arguments, repaired; raises `invalid_arguments`. `given` has canonical names."""
    entry, view = target.entry, target.view
    spelled: Mapping[str, str] = NOTHING if words is None else words.arguments
    try:
        model = entry.arguments.validate(given)
    except ValueError:
        # Pydantic's ValidationError is one, and importing it here would cost every call.
        pass
    else:
        return ParsedArguments(given, model, (), ignored, spelled, view.openings, words)
    from pydantic import ValidationError

    from handrail.engine.prepare.coerce import explain_errors, validate_coerced

    try:
        repaired, model = validate_coerced(entry.arguments, given)
    except ValidationError as error:
        shown = target.shown.shown_args(entry.arguments.schema.get("properties", ()))
        caller_view = [arg.name for arg in shown], view.units(spelled), view.inner_names
        raise explain_errors(error, spelled, *caller_view) from error
    return ParsedArguments(
        repaired.arguments, model, repaired.notes, ignored, spelled, view.openings, words
    )
