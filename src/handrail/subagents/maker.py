"""Creates the agents of a session: finds their type, and sets permissions, model and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from handrail.agent.budget import Budget, current_meter
from handrail.core.names.caller_words import arg_value
from handrail.core.ports.agents import AgentServices
from handrail.core.ports.models import Model
from handrail.core.ports.remote_tools import REMOTE_PREFIX
from handrail.core.ports.subagents import AgentSummary, DefinedAgent, SubagentRequest
from handrail.core.text.safe_text import safe_text
from handrail.engine.runtime import Runtime
from handrail.policy.agents import MAIN
from handrail.subagents import messages
from handrail.subagents.agent_types import (
    BUILT_IN,
    AgentType,
    find_type,
    narrow_tools,
    offered_tools,
    reachable_tools,
)
from handrail.subagents.child import ChildAgent, Subagent
from handrail.subagents.library import AgentLibrary

_SHOWN: Final = 64
_DUPLICATE_S: Final = 60.0
_SIMILAR: Final = 0.75
# Longer texts are compared by their beginnings.
_MAX_COMPARED: Final = 2_000


class AgentMaker:
    """Creates agents of the types in a library, which is read again for each agent."""

    def __init__(self, rt: Runtime, library: AgentLibrary) -> None:
        self._rt = rt
        self._library = library

    def list_types(self) -> Sequence[AgentSummary]:
        """See `Subagents.list_types`."""
        return self._library.list()

    def find(self, name: str, field: str) -> AgentType:
        """Return the type with this name or alias; raises `invalid_arguments`, or `untrusted` if
        the user does not trust its file.
        """
        types = self._library.types()
        kind = find_type(name, types)
        if kind is not None:
            return kind
        self._check_usable(name, field)
        shown = safe_text(name, one_line=True)[:_SHOWN]
        known = ", ".join(arg_value("agent", agent_type) for agent_type in types)
        raise messages.NO_SUCH_TYPE.error(agent=shown, known=known, field=field)

    def _named_tools(self, request: SubagentRequest) -> Sequence[str] | None:
        """The canonical names of the tools that a call allows its agent; raises `invalid_arguments` for a
        tool that does not exist. Tools of MCP servers are not checked, because they may not be known yet.
        """
        if request.tools is None:
            return None
        canonical = [self._library.canonical(name) or name for name in request.tools]
        for name, requested in zip(canonical, request.tools, strict=True):
            later = "*" in name or name.startswith(REMOTE_PREFIX)
            if not later and not self._rt.has_tool(name):
                shown = safe_text(requested, one_line=True)[:_SHOWN]
                raise messages.NO_SUCH_TOOL.error(tool=shown, field="tools")
        return canonical

    def equip(self, child: Subagent, kind: AgentType, request: SubagentRequest) -> None:
        """Give a subagent its permissions and its agent; raises `invalid_arguments`."""
        rt, meter = self._rt, current_meter.get()
        model = choose_model(rt.agent_services, request, kind)
        # The subagent gets no tools that its parent's model was not shown.
        declared = rt.child_calls.declared_tools(child.parent, child.parent_conversation)
        shown = reachable_tools(declared)
        child.tools = narrow_tools(reachable_tools(self._named_tools(request)), child.tools)
        tools = narrow_tools(kind.tools, child.tools, shown)
        profile = kind.profile
        if kind.access is not None:
            # Defined under its own id, so that a changed file does not affect agents that are working.
            rt.agents.define(child.id, kind.access)
            profile = child.id
        rt.limit_agent(child.id, tools, parent=child.parent, profile=profile)
        most = rt.agent_services.defaults.max_steps
        child.agent = ChildAgent(
            rt,
            child.lineage,
            meter,
            model=model,
            name=child.id,
            instructions=kind.prompt,
            allowed=None if tools is not None else offered_tools(rt, child.id),
            budget=None if kind.budget is None else Budget(**kind.budget),
            max_steps=_lowest_limit(request.max_steps, kind.max_steps, most),
            session=child.conversation,
        )

    def become(self, name: str) -> DefinedAgent | None:
        """See `Subagents.become`."""
        kind = self._library.types().get(name)
        if kind is None:
            self._check_usable(name, "agent")
            return None
        if kind.source == BUILT_IN:
            return None
        check_model(self._rt.agent_services, kind.model)
        if kind.access is not None:
            self._rt.agents.define(name, kind.access)
            # A file can only restrict what the main agent may do.
            self._rt.limit_agent(name, None, parent=MAIN, profile=name)
        defaults = self._rt.agent_services.defaults
        return DefinedAgent(
            kind.instructions,
            kind.model,
            _merge_limits(defaults.budget, kind.budget),
            _lowest_limit(kind.max_steps, defaults.max_steps),
        )

    def _check_usable(self, name: str, field: str) -> None:
        """Raise if there is a definition of this name that cannot be used."""
        definition = self._library.find(name)
        if definition is None or definition.usable:
            return
        if definition.problem is not None:
            raise messages.UNUSABLE_TYPE.error(agent=name, reason=definition.problem, field=field)
        raise messages.UNTRUSTED_TYPE.error(agent=name, field=field)


def _lowest_limit(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _merge_limits(limits: Mapping[str, Any], others: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the lower of two limits, for each kind of limit."""
    merged = dict(limits)
    for kind, limit in (others or {}).items():
        merged[kind] = limit if merged.get(kind) is None else min(limit, merged[kind])
    return merged


def choose_model(
    services: AgentServices, request: SubagentRequest, kind: AgentType
) -> str | Model | None:
    """Return the model of a subagent: that of the call, of its type, or the default (None). Raises
    `invalid_arguments` for a name that is not in the user's settings.
    """
    name = request.model or kind.model
    check_model(services, name)
    if name is not None:
        return name
    model: Any = services.resolve_model(None).model
    # A scripted model has separate answers for each subagent.
    of_child = getattr(model, "child", None)
    return of_child(kind.name, request.description) if of_child is not None else None


def check_model(services: AgentServices, name: str | None) -> None:
    """Raise `invalid_arguments` unless the user's settings name the model; None is the default."""
    known = services.defaults.models
    if name is not None and name not in known:
        listed = ", ".join(known) or "none"
        raise messages.MODEL_NOT_LISTED.error(model=name[:100], names=listed, field="model")


def find_duplicate(
    request: SubagentRequest, kind: str, siblings: Sequence[Subagent], now: float
) -> Subagent | None:
    """Return the subagent of the same type with the same task that started less than 60 seconds ago
    and has not failed; with `refuse_similar` also one with a similar task.
    """
    task = _normalized(request.task)
    for sibling in siblings:
        counts = sibling.status in ("running", "done")
        # The start of a subagent of an earlier process is unknown (0).
        recent = sibling.started > 0 and now - sibling.started < _DUPLICATE_S
        if not (counts and recent and sibling.lineage.agent_type == kind):
            continue
        other = _normalized(sibling.task)
        if task == other or (request.refuse_similar and _similarity(task, other) > _SIMILAR):
            return sibling
    return None


def _normalized(task: str) -> str:
    return " ".join(task.casefold().split())


def _similarity(first: str, second: str) -> float:
    start, other = first[:_MAX_COMPARED], second[:_MAX_COMPARED]
    return SequenceMatcher(None, start, other, autojunk=False).ratio()
