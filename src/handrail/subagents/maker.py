"""Creates the agents of a session: finds their type, and sets permissions, model and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class AgentMaker:
    """Creates agents of the types in a library, which is read again for each agent."""

    def __init__(self, rt: Runtime, library: AgentLibrary) -> None:
        self._rt = rt
        self._library = library

    def list_types(self) -> Sequence[AgentSummary]:
        """See `Subagents.list_types`."""
        return self._library.list()

    def find(self, name: str, field: str) -> AgentType:
        """The type with this name or alias; raises `invalid_arguments`, or `untrusted` if the user does not
        trust its file.
        """
        types = self._library.types()
        kind = find_type(name, types)
        if kind is not None:
            return kind
        self._check_usable(name, field)
        shown = safe_text(name, one_line=True)[:_SHOWN]
        known = ", ".join(arg_value("agent", one) for one in types)
        raise messages.NO_SUCH_TYPE.error(agent=shown, known=known, field=field)

    def _named_tools(self, request: SubagentRequest) -> Sequence[str] | None:
        """The canonical names of the tools that a call allows its agent; raises `invalid_arguments` for a
        tool that does not exist. Tools of MCP servers are not checked, because they may not be known yet.
        """
        if request.tools is None:
            return None
        named = [self._library.canonical(name) or name for name in request.tools]
        for name, given in zip(named, request.tools, strict=True):
            later = "*" in name or name.startswith(REMOTE_PREFIX)
            if not later and not self._rt.has_tool(name):
                shown = safe_text(given, one_line=True)[:_SHOWN]
                raise messages.NO_SUCH_TOOL.error(tool=shown, field="tools")
        return named

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
            max_steps=_least(request.max_steps, kind.max_steps, most),
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
            _smaller(defaults.budget, kind.budget),
            _least(kind.max_steps, defaults.max_steps),
        )

    def _check_usable(self, name: str, field: str) -> None:
        """Raise if there is a definition of this name that cannot be used."""
        found = self._library.find(name)
        if found is None or found.usable:
            return
        if found.problem is not None:
            raise messages.UNUSABLE_TYPE.error(agent=name, reason=found.problem, field=field)
        raise messages.UNTRUSTED_TYPE.error(agent=name, field=field)


def _least(*limits: int | None) -> int | None:
    return min((one for one in limits if one is not None), default=None)


def _smaller(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The lower of two limits, for each kind of limit."""
    merged = dict(one)
    for kind, limit in (other or {}).items():
        merged[kind] = limit if merged.get(kind) is None else min(limit, merged[kind])
    return merged


def choose_model(
    services: AgentServices, request: SubagentRequest, kind: AgentType
) -> str | Model | None:
    """The model of a subagent: that of the call, of its type, or the default (None). Raises
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
