"""All rules of a session and their verdict on a call: deny before ask before allow.

If no rule matches there is no verdict, and the mode decides; an empty set allows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.core.footprint import Footprint
from handrail.core.traits import RuleFamily
from handrail.core.verdicts import Effect, Risk, Verdict
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.paths.pattern import (
    PathBase,
)
from handrail.policy.rules.rule import (
    Rule,
    RuleSource,
)

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalysis
    from handrail.policy.rules.matcher import RuleMatcher

# Families of tools that do not read files.
_NO_READS: Final = (RuleFamily.WRITE, RuleFamily.WEB)


class DenialEnforcement(NamedTuple):
    """What enforces deny rules, so that the user need not be asked."""

    # Whether searches leave out files that must not be read.
    searches: Callable[[], bool] = lambda: False
    # Whether the sandbox hides files that must not be read from the command.
    commands: Callable[[CommandAnalysis], bool] = lambda analysis: False
    # The denied paths that are read-only for the command; None: the command can write nothing.
    writes: Callable[[CommandAnalysis], frozenset[str] | None] = lambda analysis: frozenset()
    # The denied paths that would be read-only if they existed.
    absent: Callable[[CommandAnalysis], frozenset[str]] = lambda analysis: frozenset()


class AdmittedRules(NamedTuple):
    """The rules that are in force, and a notice for each that is not."""

    rules: tuple[Rule, ...]
    notices: tuple[str, ...]


def admit_rules(rules: Iterable[Rule], *, trusted: bool = False) -> AdmittedRules:
    """Drop the allow rules of the workspace, unless the user trusts the current files."""
    kept, notices = [], []
    for rule in rules:
        ships = rule.origin.source in (RuleSource.PROJECT, RuleSource.LOCAL)
        if rule.effect is Effect.ALLOW and ships and not trusted:
            notices.append(
                f"the rule {rule.text!r} in {rule.origin} does not count: "
                "what comes with a workspace can forbid, and not allow"
            )
        else:
            kept.append(rule)
    return AdmittedRules(tuple(kept), tuple(notices))


class RuleSet:
    """Evaluates calls by rules. Immutable."""

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        path_base: PathBase = PathBase(),  # noqa: B008 - an immutable value
        enforcement: DenialEnforcement = DenialEnforcement(),  # noqa: B008 - an immutable value
    ) -> None:
        self.rules = tuple(rules)
        # Whether no call can match a rule.
        self.empty = not self.rules
        self.path_base = path_base
        self.enforcement = enforcement
        # Whether no deny or ask rule can match a call that only reads and runs no command.
        self.ignores_reads = all(
            rule.family in _NO_READS or rule.traits.matches_commands
            for rule in self.rules
            if rule.effect is not Effect.ALLOW
        )
        self._matcher = _build_matcher(self) if self.rules else None

    def judge(self, subject: PolicyInput) -> Verdict | None:
        """The verdict of the strictest rule that matches the call; None if no rule matches."""
        return None if self._matcher is None else self._matcher.judge(subject)

    def planned_prompts(self, subject: PolicyInput) -> tuple[str, ...]:
        """Always empty: rules announce nothing."""
        del subject
        return ()

    def with_rules(self, rules: Iterable[Rule]) -> RuleSet:
        """A set with further rules."""
        return RuleSet((*self.rules, *rules), self.path_base, self.enforcement)


def _build_matcher(rules: RuleSet) -> RuleMatcher:
    # Loaded only where there are rules.
    from handrail.policy.rules.matcher import RuleMatcher

    return RuleMatcher(rules)


def rules_affect_command(rules: RuleSet, analysis: CommandAnalysis) -> bool:
    """Whether a rule matches a command, whichever tool runs it."""
    from handrail.policy.rules.matcher import ANY_COMMAND

    footprint = Footprint((), command=analysis)
    subject = PolicyInput(ANY_COMMAND, Risk.DANGEROUS, footprint, False, None, False)
    return rules.judge(subject) is not None
