"""Findings: what the match of a rule means for a call, and the resulting verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from handrail.core.names.caller_words import tool_name
from handrail.core.problems import Problem, ProblemTemplate
from handrail.core.verdicts import Effect, Verdict
from handrail.policy import messages
from handrail.policy.rules.command_match import CommandRuleMatch
from handrail.policy.rules.command_pattern import MatchCertainty
from handrail.policy.rules.paths.glob import Overlap
from handrail.policy.rules.paths.index import PathMatch, RankedRule
from handrail.policy.rules.rule import Rule

_ACTIONS: Final = {"read": "reading", "write": "write to", "touch": "access to"}
_TREE_ACTIONS: Final = {"read": "it would read", "write": "it would write", "touch": "it touches"}


class Finding(NamedTuple):
    """The effect of one matching rule on a call; of several findings, the first by `sort_key` counts."""

    # 0: a certain deny; 1: a certain ask; 2: a possible match; 3: unknown effects of a command.
    rank: int
    order: int
    effect: Effect
    rule: Rule
    problem: Problem

    @property
    def sort_key(self) -> tuple[int, int, str]:
        """The order among findings: the strictest and most certain first."""
        return self.rank, self.order, self.problem.message


def tool_finding(entry: RankedRule, tool: str) -> Finding:
    """The finding of a rule about every call of a tool."""
    return _certain(entry, action=tool_name(tool))


def path_finding(hit: PathMatch, verb: str) -> Finding:
    """The finding of a rule about a path that would be read, written or touched."""
    if hit.meeting is Overlap.MAYBE:
        return _possible(hit.entry, repr(hit.path))
    if hit.meeting is Overlap.WITHIN:
        deny = hit.entry.rule.effect is Effect.DENY
        template = messages.TREE_DENIED_BY_RULE if deny else messages.TREE_APPROVAL_BY_RULE
        return _finding(hit.entry, template, action=_TREE_ACTIONS[verb], path=hit.path)
    return _certain(hit.entry, action=f"{_ACTIONS[verb]} {hit.path!r}")


def host_finding(entry: RankedRule, host: str) -> Finding:
    """The finding of a rule about a host that would be reached."""
    return _certain(entry, action=f"access to {host!r}")


def command_finding(hit: CommandRuleMatch) -> Finding:
    """The finding of a rule about a program that a command starts."""
    if hit.fit is MatchCertainty.SURE:
        return _certain(hit.entry, action=repr(hit.part))
    if hit.part:
        return _possible(hit.entry, f"{hit.part!r} is computed in part and")
    return _possible(hit.entry, "the command cannot be parsed completely and")


def unknown_effects_finding(
    entry: RankedRule, exact: Sequence[str] | None, missing: str | None = None
) -> Finding:
    """The finding of a deny rule about paths, for a command whose reads and writes are unknown. `exact`
    are the paths that the sandbox would have to protect, None if the rule has no exact paths; `missing`
    is one of them that is unprotected because it does not exist.
    """
    if missing is not None:
        template = messages.UNKNOWN_EFFECTS_MISSING_PATH
    elif exact is None:
        template = messages.UNKNOWN_EFFECTS
    else:
        template = (
            messages.UNKNOWN_EFFECTS_PROTECTABLE if exact else messages.UNKNOWN_EFFECTS_HIDEABLE
        )
    finding = _finding(entry, template, sure=False, missing=missing)
    return finding._replace(rank=3)


def finding_verdict(finding: Finding) -> Verdict:
    """The verdict that a finding leads to."""
    problem = finding.problem
    return Verdict(finding.effect, problem.message, finding.rule.name, hint=problem.hint)


def allow_verdict(rule: Rule) -> Verdict:
    """The verdict of an allow rule that covers a call."""
    return Verdict(Effect.ALLOW, f'allowed by the rule "{rule.text}"', rule.name)


def _certain(entry: RankedRule, *, action: str) -> Finding:
    deny = entry.rule.effect is Effect.DENY
    template = messages.DENIED_BY_RULE if deny else messages.APPROVAL_BY_RULE
    return _finding(entry, template, action=action)


def _possible(entry: RankedRule, what: str) -> Finding:
    template = messages.POSSIBLE_RULE_MATCH
    if entry.rule.effect is not Effect.DENY:
        template = replace(template, hint=messages.APPROVAL_BY_RULE.hint)
    return _finding(entry, template, sure=False, what=what)


def _finding(
    entry: RankedRule, template: ProblemTemplate, *, sure: bool = True, **values: object
) -> Finding:
    rule = entry.rule
    deny = sure and rule.effect is Effect.DENY
    problem = template.fill(field=None, rule=rule.text, origin=rule.origin.short, **values)
    # Of two findings that ask, the certain one is more informative.
    rank = 0 if deny else 1 if sure else 2
    return Finding(rank, entry.order, Effect.DENY if deny else Effect.ASK, rule, problem)
