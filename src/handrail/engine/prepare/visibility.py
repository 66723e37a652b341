"""Which tools a caller may use: by the limits of its agent, and if it is a model, by what it was
shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final

from handrail.core.call import ToolCall
from handrail.core.context import Session
from handrail.core.ports.plan_mode import ENTER, LEAVE
from handrail.core.problems import Problem, ProblemRaised
from handrail.dialects.base import Vocabulary
from handrail.engine import messages
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.registry import Registry, ToolEntry
from handrail.policy.agents import AgentAccess, Agents

# A shown tool that leads to others: these may be called although no array names them.
DOORS: Final[Mapping[str, tuple[str, ...]]] = {ENTER: (LEAVE,)}
_NAME: Final = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+")


def callable_tools(shown: Iterable[str]) -> frozenset[str]:
    """The tools that a model may call that is shown these: they, and the tools they lead to."""
    names = set(shown)
    for name in tuple(names):
        names.update(DOORS.get(name, ()))
    return frozenset(names)


def drop_hidden_names(problem: Problem, hidden: frozenset[str]) -> Problem:
    """The problem without its hint, if that names a tool that the caller was not shown.

    Only names with an underscore are looked for: the others are words of the language.
    """
    if problem.hint is None or hidden.isdisjoint(_NAME.findall(problem.hint)):
        return problem
    return replace(problem, hint=None)


@dataclass(frozen=True, slots=True)
class ToolVisibility:
    """Decides which tools of one runtime each caller may see and call."""

    registry: Registry
    vocabulary: Vocabulary
    session: Session
    agents: Agents
    # By agent: the canonical names that its last `declare` lets its model call. They bind the
    # calls of a model's message; an agent that nothing was declared for is not bound.
    _declared: dict[str, frozenset[str]] = field(default_factory=dict)

    def record_declared(self, agent: str, tools: frozenset[str]) -> None:
        """Note what the model of an agent may call from now on."""
        self._declared[agent] = tools

    def list_declared(self, agent: str, allowed: Collection[str] | None) -> Collection[str] | None:
        """The tools to declare to an agent: of those allowed, what it may call; None: all that
        the dialect shows.
        """
        access = self.agents.of(agent)
        if access is None:
            return allowed
        named = allowed
        if named is None:
            dialect = self.vocabulary.dialect
            named = [
                tool.name
                for tool in self.registry.list_all()
                if access.lists_tools or not dialect.hides(tool.name, tool.traits)
            ]
        found = [view.tool if (view := self.vocabulary.resolve(one)) else one for one in named]
        return [name for name in found if _open_to(access, self.registry.entry(name))]

    def list_callable(self, agent: str) -> list[str]:
        """The canonical names of all tools that an agent may call."""
        access, entry = self.agents.of(agent), self.registry.entry
        return [name for name in self.registry.names if _open_to(access, entry(name))]

    def allows(self, prepared: PreparedCall, entry: ToolEntry | None) -> bool:
        """Whether the caller may use a tool."""
        if entry is None or not _open_to(prepared.principal.access, entry):
            return False
        return self._is_declared(prepared.call, entry.tool.name)

    def _is_declared(self, call: ToolCall, tool: str) -> bool:
        if not call.from_model:
            return True
        declared = self._declared.get(call.agent)
        return declared is None or tool in declared

    def without_hidden_names(self, prepared: PreparedCall, problem: Problem) -> Problem:
        """The problem as its caller may read it: no hint names a tool that it cannot use."""
        if problem.hint is None:
            return problem
        hint = problem.hint
        hidden = frozenset(
            name
            for name in self.registry.names
            if name in hint and not self.allows(prepared, self.registry.entry(name))
        )
        return drop_hidden_names(problem, hidden) if hidden else problem

    def unknown_tool(self, prepared: PreparedCall, *, exists: bool) -> ProblemRaised:
        """The refusal of a name that no tool has, or whose tool the caller may not use."""
        name = prepared.call.name
        shown = sorted(
            self.vocabulary.shown(tool.name).name
            for tool in self.registry.list_all()
            if self.allows(prepared, self.registry.entry(tool.name)) and tool.shown(self.session)
        )
        if not name:
            return messages.NO_TOOL_NAME.error(field="name")
        if exists:
            listed = f"tools: {', '.join(shown)}"
            message = f"the tool {name!r:.200} is switched off here"
            return ProblemRaised("unknown_tool", message, hint=listed)
        close = get_close_matches(name[:100], shown, n=3, cutoff=0.6)
        hint = f"did you mean {' or '.join(close)}?" if close else f"tools: {', '.join(shown)}"
        return ProblemRaised("unknown_tool", f"there is no tool named {name!r:.200}", hint=hint)


def _open_to(access: AgentAccess | None, entry: ToolEntry | None) -> bool:
    if access is None or entry is None:
        return entry is not None
    return access.may_call(entry.tool.name, edits_files=entry.edits_files)
