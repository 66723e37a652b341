"""What denies about writing close to commands, as one value for who runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from handrail.core.commands import CommandAnalysis
from handrail.core.tool_traits import RuleFamily
from handrail.core.verdicts import Effect
from handrail.policy.rules.paths.pattern import exact_denied_paths
from handrail.policy.rules.rule import Rule
from handrail.policy.rules.rule_set import RuleSet, rules_affect_command


class WriteDenials(NamedTuple):
    """The closed paths, each with its rule. `minds` answers whether a command may write one of
    them, were none held.
    """

    paths: Mapping[str, str]
    may_affect: Callable[[CommandAnalysis], bool]


def build_write_denials(rule_set: RuleSet, further: Iterable[Rule] = ()) -> WriteDenials | None:
    """What the rules and further ones close; None if nothing can be held for them."""
    paths: dict[str, str] = {}
    kept: list[Rule] = []
    for rule in (*rule_set.rules, *further):
        if (
            rule.effect is Effect.DENY
            and rule.family is RuleFamily.WRITE
            and rule.pattern is not None
        ):
            closed = exact_denied_paths(rule.pattern, rule_set.path_base)
            if closed is not None:
                kept.append(rule)
                paths |= {path: rule.text for path in closed if path not in paths}
    if not paths:
        return None
    bare = RuleSet(kept, rule_set.path_base)
    return WriteDenials(paths, lambda analysis: rules_affect_command(bare, analysis))
