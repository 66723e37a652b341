"""Rules: their effect, the calls that they match, and their source.

If a pattern is ambiguous, deny and ask rules match broadly, and allow rules match narrowly.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any, Final, NamedTuple

from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Effect


class RuleSource(IntEnum):
    """Where a rule comes from, the nearest source first. The source decides which of several rules is
    reported, and whether an allow rule counts.
    """

    SESSION = 0
    COMMAND_LINE = 1
    LOCAL = 2
    PROJECT = 3
    USER = 4

    @property
    def word(self) -> str:
        """The name for messages."""
        return self.name.lower().replace("_", " ")


class RuleOrigin(NamedTuple):
    """Where a rule is written, for messages."""

    source: RuleSource
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is None:
            return f"the {self.source.word} rules"
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def short(self) -> str:
        """The origin without the user's folders, for callers, which must not see them."""
        return short_place(str(self))


def short_place(place: str) -> str:
    """A file and line with only the last folder of the path."""
    return "/".join(place.split("/")[-2:]) if place.startswith("/") else place


_NO_TRAITS: Final = ToolTraits()


class Rule(NamedTuple):
    """One rule. `tool` is a canonical name, `*`, or `mcp__server__*`; `pattern` None: every call.

    `spelled` is the rule as it was written. `examples` are calls that the rule must match or, with
    `not ` in front, must not match. `confined`: the rule covers only what runs inside the sandbox.
    `traits` are those of the tool.
    """

    effect: Effect
    tool: str
    pattern: str | None
    spelled: str
    origin: RuleOrigin
    examples: tuple[str, ...] = ()
    confined: bool = False
    traits: ToolTraits = _NO_TRAITS

    @property
    def family(self) -> RuleFamily | None:
        """The family of the tool, None if the rule applies only to this tool."""
        return self.traits.family

    @property
    def text(self) -> str:
        """The rule with its effect, as it is written in the settings."""
        return f"{self.effect.value} {self.spelled}"

    @property
    def name(self) -> str:
        """The name of the rule in the audit."""
        return f"rule:{self.origin.source.word}:{self.text}"


ANY_TOOL: Final = "*"
MCP_PREFIX: Final = "mcp__"


def declared_traits(tool: str) -> ToolTraits:
    """The traits of a built-in tool; for any other name, the defaults."""
    return _builtin().builtin_traits(tool) or _NO_TRAITS


@cache
def tools_in_profile(profile: str) -> tuple[str, ...]:
    """The built-in tools that agents of a read-only profile may call."""
    found = _builtin().iter_builtin_traits()
    return tuple(name for name, traits in found if profile in traits.agent_profiles)


def _builtin() -> Any:
    from handrail.tools import builtin

    return builtin
