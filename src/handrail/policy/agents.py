"""Which tools an agent may see and call, as the person wrote it down per agent.

An agent without a table gets `agents.default`; without that the main agent may use everything,
and every other one nothing. Without the section nobody is limited, except the agents of the
built-in read-only profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from handrail.core.problems import ProblemRaised
from handrail.core.tool_names import check_name_list
from handrail.core.tool_traits import READ_ONLY_PROFILES
from handrail.policy import messages
from handrail.policy.rules.parse import CanonicalName
from handrail.policy.rules.rule import tools_in_profile

MAIN: Final = "main"
DEFAULT: Final = "default"
ALL: Final = "*"
_TOOLS: Final = ("tools", "allowed_tools")
_KEYS: Final = (*_TOOLS, "policy")
# Tools have short names, and a pattern of many stars would take its time.
_MAX_NAME_CHARS: Final = 200

# Answers where a setting was written (file and line), by its dotted name.
SettingPlace = Callable[[str], str]


class AgentAction(StrEnum):
    """What an agent's policy may let it do beyond its list of tools."""

    PATCH = "Patch"
    FINALIZE = "Finalize"
    DELEGATE = "Delegate"


@dataclass(frozen=True, slots=True)
class AgentAccess:
    """What one agent may use. `tools` are canonical names and patterns with `*`, None: all.
    `above` is what the agent that started it may use: never more than that.
    """

    tools: tuple[str, ...] | None = None
    actions: frozenset[AgentAction] = frozenset(AgentAction)
    above: AgentAccess | None = None

    def may_call(self, tool: str, *, edits_files: bool) -> bool:
        """Whether the agent may see and call a tool, by its canonical name."""
        if edits_files and not self.may(AgentAction.PATCH):
            return False
        named = self.tools is None or any(fnmatchcase(tool, one) for one in self.tools)
        return named and (self.above is None or self.above.may_call(tool, edits_files=edits_files))

    def may(self, action: AgentAction) -> bool:
        """Whether the agent's policy, and that of every agent above it, has the action."""
        return action in self.actions and (self.above is None or self.above.may(action))

    @property
    def lists_tools(self) -> bool:
        """Whether tools are named one by one, here or above."""
        return self.tools is not None or (self.above is not None and self.above.lists_tools)


NOTHING: Final = AgentAccess(())


def profile_access(agent: str) -> AgentAccess | None:
    """The access of a built-in profile, None if no profile has the name of the agent. Agents of
    a profile can never change files, whatever the mode; a table of that name replaces it.
    """
    name = agent.casefold()
    return AgentAccess(tools_in_profile(name), frozenset()) if name in READ_ONLY_PROFILES else None


@dataclass(frozen=True, slots=True)
class _RuntimeLimit:
    """What a program said of an agent while the session runs."""

    tools: tuple[str, ...] | None
    parent: str | None


class Agents:
    """The access of every agent of a session: what the person wrote, and under it what the
    program around the tools says, which can only narrow.
    """

    def __init__(self, written: Mapping[str, AgentAccess], canonical: CanonicalName) -> None:
        self._canonical = canonical
        self._written = dict(written)
        self._default = self._written.pop(DEFAULT, None)
        # Without a section nobody is limited; with one, strangers have nothing.
        self._stranger = (self._default or NOTHING) if written else None
        self._limits: dict[str, _RuntimeLimit] = {}

    def of(self, agent: str) -> AgentAccess | None:
        """What an agent may use, None: everything."""
        limit = self._limits.get(agent)
        if limit is None:
            return self._own(agent)
        if limit.parent is None:
            above = self._own(agent)
        else:
            # A child that nobody wrote about is bound by its parent, and is no stranger.
            above, own = self.of(limit.parent), self._stated(agent)
            above = above if own is None else replace(own, above=above)
        return AgentAccess(limit.tools, above=above)

    def limit(
        self, agent: str, tools: Collection[str] | None, *, parent: str | None = None
    ) -> None:
        """Let an agent use only these tools, and no more than its parent may; None for both
        lifts what was said here. Raises `invalid_arguments` if it would be its own parent, or
        for one text in place of a list of tools.
        """
        check_name_list(tools, "tools")
        if tools is None and parent is None:
            self._limits.pop(agent, None)
            return
        if parent is not None and agent in self._line(parent):
            raise messages.OWN_PARENT.error(agent=agent, field="parent")
        listed: tuple[str, ...] | None = None
        if tools is not None and ALL not in tools:
            listed = tuple(self._canonical(name) or name for name in tools)
        self._limits[agent] = _RuntimeLimit(listed, parent)

    def same_chain(self, one: str, other: str) -> bool:
        """Whether the two are the same agent, or one of them is above the other."""
        return one in self._line(other) or other in self._line(one)

    def _own(self, agent: str) -> AgentAccess | None:
        written = self._written.get(agent)
        if written is not None:
            return written
        if agent == MAIN:
            return self._default
        profile = profile_access(agent)
        return self._stranger if profile is None else replace(profile, above=self._stranger)

    def _stated(self, agent: str) -> AgentAccess | None:
        """What a table or a built-in profile says of an agent, None if neither does."""
        return self._written.get(agent) or profile_access(agent)

    def _line(self, agent: str) -> list[str]:
        """An agent and those above it."""
        line = [agent]
        while (limit := self._limits.get(line[-1])) is not None and limit.parent is not None:
            line.append(limit.parent)
        return line


def parse_agents(
    section: Mapping[str, Any], canonical: CanonicalName, where: SettingPlace
) -> Agents:
    """The section `agents` of the settings; raises `invalid_arguments` with its place."""
    written = {
        name: _access(f"agents.{name}", table, canonical, where) for name, table in section.items()
    }
    return Agents(written, canonical)


def unknown_tools(section: Mapping[str, Any], canonical: CanonicalName) -> list[str]:
    """Names in the section that no tool has yet, for a word to the person."""
    return [
        f"agents.{agent}: there is no tool {name!r} yet"
        for agent, table in section.items()
        for key in _TOOLS
        for name in table.get(key, ())
        if ALL not in name and not name.startswith("mcp__") and canonical(name) is None
    ]


def _access(key: str, table: Any, canonical: CanonicalName, where: SettingPlace) -> AgentAccess:
    if not isinstance(table, Mapping):
        raise _invalid(key, "is not a table", where, 'write `tools = ["read_file"]` below it')
    for name in table:
        if name not in _KEYS:
            raise _invalid(f"{key}.{name}", "is not known", where, f"known: {', '.join(_KEYS)}")
    given = [name for name in _TOOLS if name in table]
    if len(given) > 1:
        hint = "`tools` and `allowed_tools` are two names of one list; write one"
        raise _invalid(f"{key}.{given[1]}", "is given twice", where, hint)
    if not given and "policy" not in table:
        raise _invalid(key, "is empty", where, 'write `tools = ["*"]` for no limit')
    tools: tuple[str, ...] | None = None
    if given:
        names = _name_list(f"{key}.{given[0]}", table[given[0]], where)
        tools = None if ALL in names else tuple(canonical(one) or one for one in names)
    return AgentAccess(tools, _actions(f"{key}.policy", table, where))


def _actions(key: str, table: Mapping[str, Any], where: SettingPlace) -> frozenset[AgentAction]:
    if "policy" not in table:
        return frozenset(AgentAction)
    known = {action.value.casefold(): action for action in AgentAction}
    found = set()
    for name in _name_list(key, table["policy"], where):
        action = known.get(name.casefold())
        if action is None:
            hint = f"actions: {', '.join(AgentAction)}"
            raise _invalid(key, f"names {name!r}, which is not an action", where, hint)
        found.add(action)
    return frozenset(found)


def _name_list(key: str, value: Any, where: SettingPlace) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise _invalid(key, "is not a list of names", where, 'such as ["read_file", "Grep"]')
    if not all(one.strip() for one in value):
        raise _invalid(key, "contains an empty name", where, "an empty list means no tool at all")
    if any(len(one) > _MAX_NAME_CHARS for one in value):
        raise _invalid(
            key,
            f"contains a name of more than {_MAX_NAME_CHARS} characters",
            where,
            "use shorter ones",
        )
    return [one.strip() for one in value]


def _invalid(key: str, what: str, where: SettingPlace, hint: str) -> ProblemRaised:
    template = messages.INVALID_AGENT_SETTING
    return template.error(place=where(key), key=key, reason=what, advice=hint, field=key)
