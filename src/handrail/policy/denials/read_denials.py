"""The paths that denies about reading withhold, as one value for search and sandbox.

Rules and other sources (guardrails) are read alike: wide, as every deny.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from handrail.core.commands import CommandAnalysis
from handrail.core.problems import ProblemRaised
from handrail.core.protected_names import fold_name
from handrail.core.read_denials import PathGlob
from handrail.core.tool_traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Effect
from handrail.policy import messages
from handrail.policy.rules.paths.glob import WildcardPart, compile_glob
from handrail.policy.rules.paths.index import RankedRule, RestrictionIndex
from handrail.policy.rules.paths.pattern import (
    BroadPattern,
    PathBase,
    broad_patterns,
    check_path_pattern,
)
from handrail.policy.rules.paths.touched import TouchedPath, TouchExtent
from handrail.policy.rules.rule import Rule, RuleOrigin, RuleSource
from handrail.policy.rules.rule_set import RuleSet, rules_affect_command


class ReadDenyPattern(NamedTuple):
    """A path pattern, written as in a rule, that somebody else than a rule withholds."""

    text: str
    origin: str


def build_read_denials(
    rule_set: RuleSet, extra: Iterable[ReadDenyPattern] = (), grounds: PathBase | None = None
) -> ReadDenials | None:
    """What the denies about reading and the further patterns withhold; None if nothing.
    Raises `invalid_arguments` for a pattern that cannot be read.
    """
    ground = rule_set.path_base if grounds is None else grounds
    rules = [*filter(_denies_reading, rule_set.rules), *map(_pattern_rule, extra)]
    placed = [
        (rule, place) for rule in rules for place in broad_patterns(rule.pattern or "", ground)
    ]
    return ReadDenials(placed, RuleSet(rules, ground)) if placed else None


class ReadDenials:
    """Implements `core.withheld.Withheld`."""

    def __init__(self, placed: Sequence[tuple[Rule, BroadPattern]], bare: RuleSet) -> None:
        """`bare` judges by these rules alone, with nothing kept away."""
        globs = [compile_glob(place.top, place.names, fold=True) for _, place in placed]
        entries = [RankedRule(order, rule) for order, (rule, _) in enumerate(placed)]
        self.globs = tuple(_path_glob(rule, place) for rule, place in placed)
        self._index = RestrictionIndex(zip(globs, entries, strict=True))
        lasts = [glob.parts[-1] if glob.parts else None for glob in globs]
        # A pattern without any name means everything.
        self._everything = None in lasts
        self._names = frozenset(last for last in lasts if isinstance(last, str))
        wild = {last.regex.pattern for last in lasts if isinstance(last, WildcardPart)}
        self._wild = re.compile("|".join(f"(?:{one})" for one in wild) or "(?!)", re.DOTALL)
        self._floats = any(place.floating for _, place in placed)
        self._bare = bare
        fixed = [one for one in placed if not one[1].floating]
        self.anchored: ReadDenials | None = self
        if len(fixed) < len(placed):
            self.anchored = ReadDenials(fixed, bare) if fixed else None

    def hides(self, path: str) -> bool:
        """Whether the path is withheld, or lies in a directory that is."""
        return next(self._index.find(TouchedPath(path)), None) is not None

    def ends(self, name: str) -> bool:
        """Whether a path in a directory that is not withheld could be, by its last name."""
        if self._everything:
            return True
        # Asked for every entry of a workspace.
        plain = name.isascii() and name[-1:] not in (".", " ")
        lowered = name.lower() if plain else fold_name(name)
        return lowered in self._names or self._wild.fullmatch(lowered) is not None

    def reaches(self, path: str) -> bool:
        """Whether something below a directory could be withheld."""
        return (
            self._floats
            or next(self._index.find(TouchedPath(path, TouchExtent.TREE)), None) is not None
        )

    def may_affect(self, analysis: CommandAnalysis) -> bool:
        """Whether the command may read something withheld, were nothing hidden from it."""
        return rules_affect_command(self._bare, analysis)


def _denies_reading(rule: Rule) -> bool:
    return (
        rule.effect is Effect.DENY and rule.family is RuleFamily.READ and rule.pattern is not None
    )


def _pattern_rule(pattern: ReadDenyPattern) -> Rule:
    """The rule that a pattern amounts to."""
    try:
        check_path_pattern(pattern.text)
    except ProblemRaised as raised:
        raise messages.INVALID_DENY_PATTERN.error(
            pattern=pattern.text, origin=pattern.origin, reason=raised.problem.message
        ) from raised
    origin = RuleOrigin(RuleSource.USER, file=pattern.origin)
    traits = ToolTraits(RuleFamily.READ)
    return Rule(Effect.DENY, pattern.text, pattern.text, pattern.text, origin, traits=traits)


def _path_glob(rule: Rule, place: BroadPattern) -> PathGlob:
    top = "".join(f"/{name}" for name in place.top)
    return PathGlob(top, place.names, place.floating, str(rule.origin))
