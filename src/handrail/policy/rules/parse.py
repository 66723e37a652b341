"""Parses the text of a rule; text that cannot be parsed exactly is an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.core.traits import RuleFamily
from handrail.core.verdicts import Effect
from handrail.policy import messages
from handrail.policy.rules.command_pattern import parse_command_pattern
from handrail.policy.rules.host_rules import check_host_pattern
from handrail.policy.rules.overbroad_rules import overbroad_reason
from handrail.policy.rules.paths.pattern import check_path_pattern
from handrail.policy.rules.rule import (
    ANY_TOOL,
    MCP_PREFIX,
    Rule,
    RuleOrigin,
    RuleSource,
    declared_traits,
)

# Returns the canonical name of a tool for its name in any dialect, None if there is no such tool.
CanonicalName = Callable[[str], str | None]

_RULE_FORM: Final = re.compile(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_MCP_TOOL: Final = re.compile(r"mcp__[A-Za-z0-9_.-]+(?:__\*)?|mcp__\*")
_MAX_RULE_CHARS: Final = 4000
_DEFAULT_ORIGIN: Final = RuleOrigin(RuleSource.SESSION)


def parse_rule(
    text: str,
    canonical: CanonicalName,
    origin: RuleOrigin = _DEFAULT_ORIGIN,
    *,
    effect: Effect | None = None,
    examples: Sequence[str] = (),
    confined: bool = False,
) -> Rule:
    """Parse `deny edit_file(src/**)`, or the text without its first word if `effect` is given.

    Raises `invalid_arguments` with the rule and its place.
    """
    named = text if effect is None else f"{effect} {text}"
    try:
        if len(text) > _MAX_RULE_CHARS or not text.isprintable():
            raise _invalid(f"a rule is at most {_MAX_RULE_CHARS} printable characters")
        if effect is None:
            effect, text = _split_effect(text)
        tool, pattern = _split_rule(text, canonical)
        forwards_to = declared_traits(tool).forwards_to
        if forwards_to is not None:
            # Rules see the tool to which a call is forwarded.
            tool = f"{forwards_to}*"
        if pattern is not None:
            _check_pattern(tool, pattern)
        broad = overbroad_reason(tool, pattern) if effect is Effect.ALLOW else None
        if broad is not None:
            raise _invalid(f"it is too broad: {broad}")
    except ProblemRaised as raised:
        problem = raised.problem
        raise messages.INVALID_RULE.error(
            rule=f"{named!r:.200}",
            origin=origin,
            reason=problem.message,
            advice=problem.hint or messages.RULE_SYNTAX,
        ) from raised
    spelled = " ".join(text.split())
    return Rule(
        effect, tool, pattern, spelled, origin, tuple(examples), confined, declared_traits(tool)
    )


def split_call(text: str, canonical: CanonicalName) -> tuple[str, str | None] | None:
    """The tool and the argument of `tool(argument)`; None if the text is not of that form."""
    form = _RULE_FORM.fullmatch(text)
    tool = _resolve_tool(form[1], canonical) if form else None
    return (tool, form[2]) if form and tool is not None else None


def _split_effect(text: str) -> tuple[Effect, str]:
    word, _, rest = text.strip().partition(" ")
    if word not in list(Effect):
        raise _invalid("it does not begin with allow, ask or deny")
    return Effect(word), rest


def _split_rule(text: str, canonical: CanonicalName) -> tuple[str, str | None]:
    form = _RULE_FORM.fullmatch(text)
    if form is None:
        raise _invalid("it is neither a tool nor tool(pattern)")
    name, pattern = form[1], form[2]
    tool = _resolve_tool(name, canonical)
    if tool is None:
        raise _invalid(f"there is no tool named {name!r}")
    if pattern is None:
        return tool, None
    if not pattern.strip():
        raise _invalid("its pattern is empty; leave the parentheses out to match every call")
    pattern = pattern.strip()
    every_command = declared_traits(tool).matches_commands and pattern in ("*", ":*")
    return tool, None if every_command else pattern


def _resolve_tool(name: str, canonical: CanonicalName) -> str | None:
    if name == ANY_TOOL:
        return ANY_TOOL
    if name.startswith(MCP_PREFIX) and _MCP_TOOL.fullmatch(name):
        # The tools of a server are not known yet. A server without a tool means all its tools.
        return name if "__" in name[len(MCP_PREFIX) :] or name == f"{MCP_PREFIX}*" else f"{name}__*"
    return canonical(name)


def _check_pattern(tool: str, pattern: str) -> None:
    traits = declared_traits(tool)
    if tool == ANY_TOOL or not traits.takes_pattern or tool.startswith(MCP_PREFIX):
        raise _invalid(f"{tool} takes no pattern")
    if traits.matches_commands:
        parse_command_pattern(pattern)
    elif traits.family is RuleFamily.WEB:
        check_host_pattern(pattern)
    else:
        check_path_pattern(pattern)


def _invalid(why: str) -> ProblemRaised:
    return ProblemRaised("invalid_arguments", why)
