"""What a rule's match means for a call, in words: the verdict names the rule and its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.core.verdicts import Effect, Verdict
from handrail.policy.rules.command_match import CommandRuleMatch
from handrail.policy.rules.command_pattern import MatchCertainty
from handrail.policy.rules.paths.glob import Overlap
from handrail.policy.rules.paths.index import PathMatch, RankedRule
from handrail.policy.rules.rule import Rule

# What would let a command run unasked although nobody knows what it touches.
_HIDABLE: Final = (
    "a person may approve it; where bubblewrap confines commands, what no call may read is "
    "hidden from them and nobody is asked"
)
_CLOSABLE: Final = (
    "a person may approve it; where bubblewrap confines commands and what the rule names "
    "exists, it is held read-only for them and nobody is asked"
)
_ABSENT: Final = (
    "a person may approve it; once {!r} is made, it is held read-only for commands and nobody is "
    "asked"
)
_UNCLOSABLE: Final = (
    "a person may approve it; a rule about one folder or file (`migrations/**`, `./uv.lock`) is "
    "kept by the sandbox without asking, one that may mean files anywhere (`*.lock`) is not"
)


class Finding(NamedTuple):
    """What one rule says about a call; of several, the least counts."""

    rank: int
    order: int
    reason: str
    effect: Effect
    rule: Rule
    hint: str = ""


def tool_finding(entry: RankedRule, tool: str) -> Finding:
    """A rule about every call of a tool."""
    return _finding(entry, f"{tool} is what {_quote_rule(entry)} speaks of")


def path_finding(hit: PathMatch, verb: str) -> Finding:
    """A rule about a path that would be read or written."""
    if hit.meeting is Overlap.MAYBE:
        reason = f"{hit.path!r} may stand for what {_quote_rule(hit.entry)} speaks of"
        return _finding(hit.entry, reason, sure=False)
    if hit.meeting is Overlap.WITHIN:
        reason = f"it would {verb} all of {hit.path!r}, where {_quote_rule(hit.entry)} has a say"
    else:
        reason = f"it would {verb} {hit.path!r}, and {_quote_rule(hit.entry)} speaks of that"
    return _finding(hit.entry, reason)


def command_finding(hit: CommandRuleMatch) -> Finding:
    """A rule about a program of a command."""
    if hit.fit is MatchCertainty.SURE:
        return _finding(hit.entry, f"{hit.part!r} is what {_quote_rule(hit.entry)} speaks of")
    what = f"{hit.part!r} is computed in part" if hit.part else "the command cannot be read"
    return _finding(
        hit.entry, f"{what}, and may be what {_quote_rule(hit.entry)} means", sure=False
    )


def unknown_effects_finding(
    entry: RankedRule, closed: Sequence[str] | None, absent: str | None = None
) -> Finding:
    """A deny about paths, for a command of which nobody knows what it touches. `closed` are
    the paths that would have to be held; None: the rule has none. `absent` is one of them that
    would be held if it were there.
    """
    reason = f"nobody can know what the command reads and writes, and {_quote_rule(entry)} holds"
    if absent is not None:
        said = f"{reason}; {absent!r} does not exist, and only what does is held read-only"
        return _finding(entry, said, sure=False)._replace(rank=3, hint=_ABSENT.format(absent))
    help_ = _CLOSABLE if closed else _HIDABLE if closed is not None else _UNCLOSABLE
    return _finding(entry, reason, sure=False)._replace(rank=3, hint=help_)


def finding_verdict(finding: Finding) -> Verdict:
    """The verdict that a finding leads to."""
    rule = finding.rule
    if finding.effect is Effect.DENY:
        hint = f"leave it; only a person can change the rule in {rule.origin}"
    elif rule.effect is Effect.DENY:
        hint = finding.hint or "name the files and programs plainly, or use a file tool"
    else:
        hint = f"a person is asked each time; the rule stands in {rule.origin}"
    return Verdict(finding.effect, finding.reason, rule.name, hint=hint)


def allow_verdict(rule: Rule) -> Verdict:
    """The verdict of an allow rule that covers a call."""
    return Verdict(Effect.ALLOW, f"{rule.text!r} covers it", rule.name)


def _finding(entry: RankedRule, reason: str, *, sure: bool = True) -> Finding:
    deny = sure and entry.rule.effect is Effect.DENY
    effect = Effect.DENY if deny else Effect.ASK
    # Of two that ask, the one that surely means the call says more.
    rank = 0 if deny else 1 if sure else 2
    return Finding(rank, entry.order, reason, effect, entry.rule)


def _quote_rule(entry: RankedRule) -> str:
    return f"the rule {entry.rule.text!r}"
