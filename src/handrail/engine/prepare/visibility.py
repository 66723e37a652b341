"""Decides which tools a caller may use: by the limits of its agent and, for a model, by what it was
shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from handrail.core.call import ToolCall
from handrail.core.context import Session
from handrail.core.ports.plan_mode import ENTER, LEAVE
from handrail.core.problems import Problem, ProblemRaised
from handrail.dialects.base import View, Vocabulary
from handrail.engine import messages
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.registry import Registry, ToolEntry, ToolOrigin
from handrail.policy.agents import AgentAccess, Agents

# A shown tool that leads to others, which may be called although no declaration names them.
DOORS: Final[Mapping[str, tuple[str, ...]]] = {ENTER: (LEAVE,)}
# Stands for every tool that the host program's `resolve_tool` may find.
RESOLVED_TOOLS: Final = "*"
_NAME: Final = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+")


def callable_tools(shown: Iterable[str]) -> frozenset[str]:
    """The tools that a model which is shown these may call: they, and the tools they lead to."""
    names = set(shown)
    for name in tuple(names):
        names.update(DOORS.get(name, ()))
    return frozenset(names)


def drop_hidden_names(problem: Problem, hidden: frozenset[str]) -> Problem:
    """Return the problem without its hint if that names a tool that the caller was not shown.

    Only names with an underscore are searched: the others are ordinary words.
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
    # By reader: the canonical names that its last `declare` lets its model call. They restrict the
    # calls of a model's message; an agent for which nothing was declared is not restricted.
    _declared: dict[str, frozenset[str]] = field(default_factory=dict)

    def record_declared(self, reader: str, tools: frozenset[str]) -> None:
        """Note what the model of an agent may call from now on, see `ToolCall.reader`."""
        self._declared[reader] = tools

    def find_declared(self, reader: str) -> frozenset[str] | None:
        """Return what the model of an agent may call; None if nothing was declared for it."""
        return self._declared.get(reader)

    def list_declared(self, agent: str, allowed: Collection[str] | None) -> Collection[str] | None:
        """Return the tools to declare to an agent: the allowed ones that it may call; None means
        all that are shown.
        """
        access = self.agents.of(agent)
        if access is None:
            return allowed
        dialect, tools = self.vocabulary.dialect, self.registry.list_all()
        named = (
            [view.tool if (view := self.vocabulary.resolve(one)) else one for one in allowed]
            if allowed is not None
            else [
                tool.name
                for tool in tools
                if access.lists_tools or not dialect.hides(tool.name, tool.traits)
            ]
        )
        found = [name for name in named if _open_to(access, self.registry.entry(name))]
        return [view.name for name in found for view in self._views(access, name, allowed or ())]

    def _views(self, access: AgentAccess | None, tool: str, names: Collection[str]) -> list[View]:
        """The views in which a tool is shown to an agent, among those that `names` choose."""
        views = self.vocabulary.chosen_views(tool, names)
        while access is not None and len(views) > 1:
            listed = self.vocabulary.chosen_views(tool, access.names)
            views = [view for view in views if view in listed]
            access = access.above
        return views

    def list_callable(self, agent: str) -> list[str]:
        """The canonical names of all tools that an agent may call."""
        access, entry = self.agents.of(agent), self.registry.entry
        return [name for name in self.registry.names if _open_to(access, entry(name))]

    def allows(
        self, prepared: PreparedCall, entry: ToolEntry | None, view: View | None = None
    ) -> bool:
        """Whether the caller may use a tool; by the name of this view, if the dialect has it."""
        access = prepared.principal.access
        if entry is None or not _open_to(access, entry):
            return False
        declared, tool = self._declared_to(prepared.call), entry.tool.name
        if declared is not None and not _is_declared(entry, declared):
            return False
        if view is None or not self.vocabulary.shows(view):
            return True
        if len(self.vocabulary.views(tool)) == 1:
            return True
        shown = declared is None or f"{tool}:{view.name}" in declared
        return shown and view in self._views(access, tool, ())

    def _declared_to(self, call: ToolCall) -> frozenset[str] | None:
        """Return what was declared to the model that makes a call; None if the call is not
        restricted.
        """
        if not call.from_model:
            return None
        return self._declared.get(call.reader if call.conversation else call.agent)

    def without_hidden_names(self, prepared: PreparedCall, problem: Problem) -> Problem:
        """Return the problem as its caller may read it: no hint names a tool that the caller cannot
        use or was not shown.
        """
        if problem.hint is None:
            return problem
        if problem.hint_tools and not problem.hint_tools <= self._named_to(prepared):
            return replace(problem, hint=None)
        hint = problem.hint
        hidden = frozenset(
            name
            for name in self.registry.names
            if name in hint and not self.allows(prepared, self.registry.entry(name))
        )
        return drop_hidden_names(problem, hidden) if hidden else problem

    def unknown_tool(self, prepared: PreparedCall, *, exists: bool) -> ProblemRaised:
        """Return the refusal of a name that no tool has, or whose tool the caller may not use."""
        name = prepared.call.name
        if not name:
            return messages.NO_TOOL_NAME.error(field="name")
        shown = self._shown_to(prepared)
        listed = f"tools: {', '.join(sorted(view.name for view in shown))}"
        if exists:
            return messages.TOOL_SWITCHED_OFF.error(tool=name, hint=listed)
        similar = self._similar(name, shown)
        hint = f"did you mean {' or '.join(similar)}?" if similar else listed
        return messages.NO_SUCH_TOOL.error(tool=name, hint=hint)

    def _shown_to(self, prepared: PreparedCall) -> list[View]:
        """Return what the caller was shown: its declared tools, or those that are shown by
        default.
        """
        dialect, listed = self.vocabulary.dialect, self._declared_to(prepared.call) is not None
        access = prepared.principal.access
        listed = listed or (access is not None and access.lists_tools)
        return [
            view
            for tool in self.registry.list_all()
            if tool.shown(self.session) and (listed or not dialect.hides(tool.name, tool.traits))
            for view in self.vocabulary.views(tool.name)
            if self.allows(prepared, self.registry.entry(tool.name), view)
        ]

    def _named_to(self, prepared: PreparedCall) -> set[str]:
        """The tools whose names the caller knows: those that it was shown, and the one it calls."""
        return {view.tool for view in self._shown_to(prepared)} | {prepared.name}

    def _similar(self, name: str, shown: Sequence[View]) -> list[str]:
        """Return the shown tools that the name may mean. The most similar accepted name decides
        which kind of tool is meant; tools of other kinds only have similar names.
        """
        from difflib import get_close_matches

        accepted = {one.casefold(): view.tool for one, view in self.vocabulary.accepted()}
        accepted.update((one.casefold(), one) for one in self.registry.names)
        close = get_close_matches(name[:100].casefold(), accepted, n=8, cutoff=0.6)
        tools = [tool for one in close if (tool := self.registry.find(accepted[one])) is not None]
        wanted = dict.fromkeys(tool.name for tool in tools if tool.group == tools[0].group)
        return [view.name for tool in wanted for view in shown if view.tool == tool][:3]


def _is_declared(entry: ToolEntry, declared: frozenset[str]) -> bool:
    """Return whether what was declared to a model lets it call a tool."""
    if entry.tool.name in declared:
        return True
    if entry.origin is ToolOrigin.RESOLVED:
        return RESOLVED_TOOLS in declared
    return entry.tool.traits.reached_by in declared


def _open_to(access: AgentAccess | None, entry: ToolEntry | None) -> bool:
    if access is None or entry is None:
        return entry is not None
    forwards_to = entry.tool.traits.forwards_to
    if forwards_to is not None:
        # The call that it stands for is checked by its own name.
        return access.may_call_some(forwards_to)
    return access.may_call(entry.tool.name, edits_files=entry.edits_files)
