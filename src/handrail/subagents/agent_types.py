"""The types of subagents: their purpose, tools and instructions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from handrail.core.ports.remote_tools import REMOTE_PREFIX
from handrail.core.ports.subagents import READ_ONLY_STEPS
from handrail.engine.runtime import Runtime
from handrail.policy.agents import AgentAccess

BUILT_IN: Final = "built-in"
_SUBAGENT: Final = "subagent"
_MCP_CALL: Final = "mcp_call"
# Characters of patterns for which matching texts does not prove that one pattern contains another.
_OTHER_PATTERNS: Final = frozenset("?[]")

_ANSWER: Final = (
    "You are a subagent: another agent gave you one part of its task. You see nothing of its "
    "conversation, and no one answers questions in text. Your last message is all that it reads: "
    "make it complete and short, name files with their paths and lines, and say what you could "
    "not find out or do."
)


@dataclass(frozen=True, slots=True)
class AgentType:
    """A type of subagent. `profile` is a read-only profile or a table of the settings that also limits
    its tools; `tools` None: all tools that its parent may use.
    """

    name: str
    description: str
    instructions: str
    profile: str | None = None
    tools: tuple[str, ...] | None = None
    max_steps: int | None = None
    model: str | None = None
    budget: Mapping[str, Any] | None = None
    source: str = BUILT_IN
    # The access of agents of this type, if no table of the settings defines it.
    access: AgentAccess | None = None

    @property
    def prompt(self) -> str:
        """The instructions for an agent of this type."""
        return f"{_ANSWER}\n\n{self.instructions}".strip()


def narrow_tools(*lists: Collection[str] | None) -> tuple[str, ...] | None:
    """The intersection of lists of names; None if all lists are None (no limit). A pattern with `*`
    matches names and patterns of the other lists and never adds to them; other patterns are ignored.
    """
    common: tuple[str, ...] | None = None
    for names in lists:
        if names is None:
            continue
        usable = tuple(name for name in names if not _OTHER_PATTERNS & set(name))
        if common is None:
            common = usable
            continue
        narrower = [name for name in common if _is_within(name, usable)]
        common = tuple(
            dict.fromkeys([*narrower, *(name for name in usable if _is_within(name, common))])
        )
    return common


def _is_within(name: str, patterns: Collection[str]) -> bool:
    """Whether everything that a name or pattern matches is also matched by one of the patterns."""
    # A `*` in the name is a character that only a `*` of a pattern can match.
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def reachable_tools(shown: Collection[str] | None) -> Collection[str] | None:
    """Return the shown tools, and all tools of MCP servers if the tool that calls them is shown:
    they are not listed before they have been looked up.
    """
    return shown if shown is None or _MCP_CALL not in shown else {*shown, f"{REMOTE_PREFIX}*"}


def offered_tools(rt: Runtime, agent: str) -> list[str] | None:
    """The default tools of an agent and `subagent`; None if the agent may not use `subagent`."""
    access = rt.agents.of(agent)
    if access is not None and not access.may_call(_SUBAGENT, edits_files=False):
        return None
    return [*(tool["name"] for tool in rt.declare("mcp", agent=agent)), _SUBAGENT]


def _read_only(name: str, description: str, instructions: str) -> AgentType:
    return AgentType(name, description, instructions, profile=name, max_steps=READ_ONLY_STEPS)


_TYPES: Final = (
    _read_only(
        "explore",
        "finds and explains code; only reads",
        "Find what the task asks for in the workspace. Search broadly first, then read what matters. "
        "You cannot change anything.",
    ),
    _read_only(
        "review",
        "reviews code; only reads",
        "Review what the task names: errors first, then risks, then style. Give the file and the line "
        "of each finding and why it is one. You cannot change anything.",
    ),
    _read_only(
        "plan",
        "works out how to do something; only reads",
        "Work out how the task can be done: which files change, in which order, what can go wrong, how "
        "it is verified. You cannot change anything.",
    ),
    _read_only(
        "test",
        "runs tests and checks; changes no file",
        "Run the tests or checks that the task names and report what failed and why. Commands cannot "
        "change the workspace.",
    ),
    AgentType(
        "general",
        "does any part of a task; may change files",
        "Do the task completely, and verify it as the project does.",
    ),
    AgentType(
        "shell",
        "runs commands",
        "Do the task with commands. Report what they printed as far as it matters.",
        tools=("run_command", "job_output", "job_kill", "job_write", "job_list"),
    ),
)
BUILT_IN_TYPES: Final[Mapping[str, AgentType]] = {one.name: one for one in _TYPES}

# Names of types in other products, in lower case.
ALIASES: Final[Mapping[str, str]] = {
    "bash": "shell",
    "general-purpose": "general",
    "general_purpose": "general",
    "code-reviewer": "review",
    "reviewer": "review",
    "explorer": "explore",
    "tester": "test",
}


def find_type(name: str, types: Mapping[str, AgentType]) -> AgentType | None:
    """The type with this name, in any letter case, or with this alias; None if there is none."""
    folded = name.strip().casefold()
    return types.get(name) or types.get(folded) or types.get(ALIASES.get(folded, ""))
