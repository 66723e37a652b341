"""Which tools each agent may see and call, from the `agents` section of the settings.

An agent without a table gets `agents.default`; without that, the main agent may use every tool and
every other agent none. Without the section only the agents of the built-in read-only profiles are
restricted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.core.tool import check_name_list
from handrail.core.traits import AGENT_TYPES, READ_ONLY_PROFILES, RuleFamily
from handrail.policy import messages
from handrail.policy.modes import Mode, parse_mode
from handrail.policy.rules.rule import MCP_PREFIX, declared_traits, tools_in_profile

if TYPE_CHECKING:
    from handrail.policy.rules.parse import CanonicalName

MAIN: Final = "main"
DEFAULT: Final = "default"
ALL: Final = "*"
_TOOLS: Final = ("tools", "allowed_tools")
# Keys of a table that do not concern access; the package of subagents reads them.
DEFINITION_KEYS: Final = ("description", "prompt", "prompt_file", "model", "budget", "max_steps")
_KEYS: Final = (*_TOOLS, "policy", "mode", "type", *DEFINITION_KEYS)
# Keys of the section that are not names of agents.
OPTIONS: Final = frozenset({"at_once"})
# An agent with a tool of one of these families is not read-only.
_ACTING: Final = frozenset({RuleFamily.WRITE, RuleFamily.RUN})
# Tool names are short, and a long pattern of many stars is slow to match.
_MAX_NAME_CHARS: Final = 200

# Returns where a setting is written (file and line), by its dotted name.
SettingPlace = Callable[[str], str]


class AgentAction(StrEnum):
    """Actions that an agent's policy may allow beyond its list of tools."""

    PATCH = "Patch"
    FINALIZE = "Finalize"
    DELEGATE = "Delegate"


class AgentAccess(NamedTuple):
    """What one agent may use. `tools` are canonical names and patterns with `*`; None means every
    tool. `above` is the access of the parent agent, which is never exceeded. `names` are the tools
    as they were listed: a dialect may show one tool under several names. `mode` can make the mode of
    the session stricter; it never allows more.
    """

    tools: tuple[str, ...] | None = None
    actions: frozenset[AgentAction] = frozenset(AgentAction)
    above: AgentAccess | None = None
    names: tuple[str, ...] = ()
    mode: Mode | None = None

    def may_call(self, tool: str, *, edits_files: bool) -> bool:
        """Whether the agent may see and call a tool, by its canonical name."""
        if edits_files and not self.may(AgentAction.PATCH):
            return False
        named = self.tools is None or any(fnmatchcase(tool, one) for one in self.tools)
        return named and (self.above is None or self.above.may_call(tool, edits_files=edits_files))

    def may_call_some(self, prefix: str) -> bool:
        """Whether the agent may call a tool whose name begins with a prefix."""
        named = self.tools is None or any(
            one.startswith(prefix) or fnmatchcase(prefix, one) for one in self.tools
        )
        return named and (self.above is None or self.above.may_call_some(prefix))

    def may(self, action: AgentAction) -> bool:
        """Whether the policy of the agent and of every agent above it allows the action."""
        return action in self.actions and (self.above is None or self.above.may(action))

    def below(self, other: AgentAccess | None) -> AgentAccess:
        """This access, limited to what `other` allows."""
        return self._replace(above=other if self.above is None else self.above.below(other))

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes of this agent and of those above it."""
        above = () if self.above is None else self.above.modes
        return above if self.mode is None else (self.mode, *above)

    @property
    def lists_tools(self) -> bool:
        """Whether this access, or one above it, lists tools by name."""
        return self.tools is not None or (self.above is not None and self.above.lists_tools)


NOTHING: Final = AgentAccess(())


def profile_access(agent: str) -> AgentAccess | None:
    """The access of a built-in profile, None if no profile has the name of the agent. Agents of a
    profile can never change files, in any mode; a table of the settings with that name replaces it.
    """
    name = agent.casefold()
    return AgentAccess(tools_in_profile(name), frozenset()) if name in READ_ONLY_PROFILES else None


class _RuntimeLimit(NamedTuple):
    """A limit that the host program set on an agent while the session runs."""

    tools: tuple[str, ...] | None
    parent: str | None
    # The name whose table or built-in profile applies to the agent; None: the agent's own name.
    profile: str | None = None
    # The tools as they were listed.
    names: tuple[str, ...] = ()


class Agents:
    """The access of every agent: the user's settings, narrowed by limits set at run time."""

    def __init__(self, written: Mapping[str, AgentAccess], canonical: CanonicalName) -> None:
        self._canonical = canonical
        self._written = dict(written)
        self._default = self._written.pop(DEFAULT, None)
        # Without a section unlisted agents may use every tool; with one, none.
        self._stranger = (self._default or NOTHING) if written else None
        self._limits: dict[str, _RuntimeLimit] = {}
        self._defined: dict[str, AgentAccess] = {}
        # Counts changes of the limits, so that values derived from them can be invalidated.
        self.version = 0

    def of(self, agent: str) -> AgentAccess | None:
        """The access of an agent; None means every tool."""
        limit = self._limits.get(agent)
        if limit is None:
            return self._own(agent)
        above = self._own(agent) if limit.parent is None else self.of(limit.parent)
        # A child agent without a table of its own gets the access of its parent.
        bound_by = limit.profile or (None if limit.parent is None else agent)
        own = None if bound_by is None else self._stated(bound_by)
        above = above if own is None else own.below(above)
        return AgentAccess(limit.tools, above=above, names=limit.names)

    def limit(
        self,
        agent: str,
        tools: Collection[str] | None,
        *,
        parent: str | None = None,
        profile: str | None = None,
    ) -> None:
        """Restrict an agent to these tools, to the access of its parent and to that of a profile; None
        for all removes the limit. Raises `invalid_arguments` if the agent would be its own ancestor,
        if no table and no built-in profile has the name `profile`, or if `tools` is one string.
        """
        check_name_list(tools, "tools")
        if profile is not None and self._stated(profile) is None:
            names = ", ".join(sorted({*self._written, *READ_ONLY_PROFILES}))
            raise messages.NO_SUCH_PROFILE.error(profile=profile, names=names, field="profile")
        if tools is None and parent is None and profile is None:
            self._limits.pop(agent, None)
            self.version += 1
            return
        if parent is not None and agent in self._line(parent):
            raise messages.OWN_PARENT.error(agent=agent, field="parent")
        listed: tuple[str, ...] | None = None
        if tools is not None and ALL not in tools:
            listed = tuple(self._canonical(name) or name for name in tools)
        self._limits[agent] = _RuntimeLimit(listed, parent, profile, tuple(tools or ()))
        self.version += 1

    def define(self, name: str, access: AgentAccess) -> None:
        """State the access of a profile that no table of the settings has."""
        self._defined[name] = access
        self.version += 1

    def chain(self, agent: str) -> tuple[str, ...]:
        """The agents from the first ancestor down to this one."""
        return tuple(reversed(self._line(agent)))

    def same_chain(self, one: str, other: str) -> bool:
        """Whether both names are one agent, or one agent is an ancestor of the other."""
        return one in self._line(other) or other in self._line(one)

    def _own(self, agent: str) -> AgentAccess | None:
        written = self._written.get(agent)
        if written is not None:
            return written
        if agent == MAIN:
            return self._default
        profile = profile_access(agent)
        return self._stranger if profile is None else profile.below(self._stranger)

    def _stated(self, agent: str) -> AgentAccess | None:
        """The access that a table or a built-in profile gives to an agent, None if neither exists."""
        return self._written.get(agent) or self._defined.get(agent) or profile_access(agent)

    def _line(self, agent: str) -> list[str]:
        """The agent and its ancestors."""
        line = [agent]
        while (limit := self._limits.get(line[-1])) is not None and limit.parent is not None:
            line.append(limit.parent)
        return line


def parse_agents(
    section: Mapping[str, Any],
    canonical: CanonicalName,
    where: SettingPlace,
    added: tuple[str, ...] = (),
) -> Agents:
    """Parse the section `agents` of the settings; raises `invalid_arguments` with the place of the
    error. `added` are tools that agents get in addition to the listed ones, unless the agent is
    read-only.
    """
    written = {
        name: read_access(f"agents.{name}", table, canonical, where)
        for name, table in section.items()
        if name not in OPTIONS
    }
    if added:
        written = {name: _extend(access, added) for name, access in written.items()}
    return Agents(written, canonical)


def _extend(access: AgentAccess, added: tuple[str, ...]) -> AgentAccess:
    listed = access.tools or ()
    acts = any(declared_traits(one).family in _ACTING for one in listed)
    if not acts or AgentAction.PATCH not in access.actions:
        return access
    return access._replace(tools=(*listed, *added))


def unknown_tools(section: Mapping[str, Any], canonical: CanonicalName) -> list[str]:
    """A warning for each name in the section that no registered tool has."""
    return [
        f"agents.{agent}: there is no tool {name!r} yet"
        for agent, table in section.items()
        if agent not in OPTIONS
        for key in _TOOLS
        for name in table.get(key, ())
        if ALL not in name and not name.startswith(MCP_PREFIX) and canonical(name) is None
    ]


def read_access(key: str, table: Any, canonical: CanonicalName, where: SettingPlace) -> AgentAccess:
    """Parse the access of a table; raises `invalid_arguments` with the place of the error."""
    if not isinstance(table, Mapping):
        raise _invalid(key, "is not a table", where, 'write `tools = ["read_file"]` below it')
    for name in table:
        if name not in _KEYS:
            raise _invalid(f"{key}.{name}", "is not known", where, f"known: {', '.join(_KEYS)}")
    given = [name for name in _TOOLS if name in table]
    if len(given) > 1:
        hint = "`tools` and `allowed_tools` are two names of one list; write one"
        raise _invalid(f"{key}.{given[1]}", "is given twice", where, hint)
    if not table:
        raise _invalid(key, "is empty", where, 'write `tools = ["*"]` for no limit')
    tools: tuple[str, ...] | None = None
    names: list[str] = []
    if given:
        names = _name_list(f"{key}.{given[0]}", table[given[0]], where)
        tools = None if ALL in names else tuple(canonical(one) or one for one in names)
    return AgentAccess(
        tools,
        _actions(f"{key}.policy", table, where),
        _base_access(key, table, where),
        tuple(names),
        _read_mode(key, table, where),
    )


def _base_access(key: str, table: Mapping[str, Any], where: SettingPlace) -> AgentAccess | None:
    """The access of the type that an agent is based on."""
    base = table.get("type")
    if base is None:
        # A table without tools and policy does not replace a profile.
        own = key.rpartition(".")[2]
        limits = any(name in table for name in (*_TOOLS, "policy"))
        return None if limits else profile_access(own)
    if base not in AGENT_TYPES:
        hint = f"types: {', '.join(AGENT_TYPES)}"
        raise _invalid(f"{key}.type", f"is {base!r:.100}, which is no type", where, hint)
    return profile_access(base)


def _read_mode(key: str, table: Mapping[str, Any], where: SettingPlace) -> Mode | None:
    given = table.get("mode")
    if given is None:
        return None
    try:
        return parse_mode(given if isinstance(given, str) else repr(given)[:100])
    except ProblemRaised as raised:
        hint = raised.problem.hint or ", ".join(Mode)
        raise _invalid(f"{key}.mode", "is not a mode", where, hint) from raised


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
