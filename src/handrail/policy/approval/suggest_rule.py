"""Suggests the rule that the answer "always" grants: the narrowest rule that covers the call."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from handrail.core.commands import CommandAnalysis, CommandClass, CommandPart
from handrail.core.problems import ProblemRaised
from handrail.core.traits import RuleFamily
from handrail.core.verdicts import Effect
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.host_rules import suggest_host_pattern
from handrail.policy.rules.overbroad_rules import (
    has_subcommands,
    is_interpreter,
    ungrantable_reason,
)
from handrail.policy.rules.parse import parse_rule
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.paths.touched import known_paths
from handrail.policy.rules.rule import MCP_PREFIX
from handrail.policy.rules.rule_set import RuleSet

_SUBCOMMAND: Final = re.compile(r"[A-Za-z][\w:.-]*")
_SPECIAL: Final = re.compile(r"([*?\[\]{}\\!~])")
_UNSAYABLE: Final = re.compile(r"[*$`]")
# Second words after which only the third one says what is run: `npm run build`, `python -m pytest`.
_TWO_WORDS: Final = frozenset(("run", "-m"))


def suggest_rule(subject: PolicyInput, path_base: PathBase) -> str | None:
    """The rule to suggest, such as `run_command(npm test:*)`; None if only this one call can be
    allowed. A rule about commands does not cover a command that requests to run outside the sandbox.
    """
    analysis = subject.footprint.command
    patterns = (
        _command_patterns(subject, analysis)
        if analysis is not None
        else _path_patterns(subject, path_base)
    )
    for pattern in patterns:
        text = f"{subject.tool}({pattern})" if pattern else subject.tool
        if _is_grantable(text, subject, path_base):
            return text
    return None


def _is_grantable(text: str, subject: PolicyInput, path_base: PathBase) -> bool:
    """Whether the rule can be granted, and covers the call for which it is suggested."""
    try:
        rule = parse_rule(text, lambda name: name, effect=Effect.ALLOW, confined=subject.confined)
    except ProblemRaised:
        return False
    if ungrantable_reason(rule.tool, rule.pattern) is not None:
        return False
    verdict = RuleSet([rule], path_base).judge(subject)
    return verdict is not None and verdict.effect is Effect.ALLOW


def _path_patterns(subject: PolicyInput, path_base: PathBase) -> Iterator[str]:
    if subject.traits.family is RuleFamily.WEB:
        yield suggest_host_pattern(subject.footprint) or ""
        return
    targets = set(known_paths(subject))
    if not targets:
        if not subject.footprint.open_ended or subject.tool.startswith(MCP_PREFIX):
            yield ""
        return
    if len(targets) > 1 or not path_base.roots:
        return
    target = targets.pop()
    top = f"{path_base.roots[0].rstrip('/')}/"
    rest = target.path.removeprefix(top)
    if target.path.startswith(top) and rest == rest.strip():
        named = _SPECIAL.sub(r"\\\1", rest)
        yield f"{named}/**" if target.tree else named if "/" in named else f"/{named}"


def _command_patterns(subject: PolicyInput, analysis: CommandAnalysis) -> Iterator[str]:
    if not subject.traits.matches_commands or len(analysis.parts) != 1:
        return
    part = analysis.parts[0]
    words = [word for word in part.words if word is not None]
    if len(words) != len(part.words) or any(_UNSAYABLE.search(word) for word in words):
        return
    length = _significant_words(words, part)
    if length:
        yield f"{shlex.join(words[:length])}:*"
    yield shlex.join(words)


def _significant_words(words: list[str], part: CommandPart) -> int:
    """How many of the first words determine what the command does; 0 if all words do."""
    if not words or "/" in words[0] or part.safety_class >= CommandClass.DANGEROUS:
        return 0
    program = words[0].lower()
    if has_subcommands(program) or is_interpreter(program):
        length = 3 if words[1:2] and words[1] in _TWO_WORDS else 2
        last = words[length - 1] if len(words) >= length else ""
        return length if _SUBCOMMAND.fullmatch(last) or is_interpreter(program) else 0
    return 1 if part.safety_class is CommandClass.DEV else 0
