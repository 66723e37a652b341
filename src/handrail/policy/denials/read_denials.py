"""The paths that must not be read, for searches and the sandbox, and their enforcement for commands.

The patterns come from deny rules and guardrails; they match broadly, like every deny rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.names.protected_names import fold_name
from handrail.core.ports.processes import Confinement, Sandbox
from handrail.core.ports.read_denials import HiddenPaths, PathGlob
from handrail.core.problems import ProblemRaised
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Effect
from handrail.policy import messages
from handrail.policy.confinement import sandbox_hides_paths
from handrail.policy.rules.paths.glob import WildcardPart, compile_glob
from handrail.policy.rules.paths.index import RankedRule, RestrictionIndex
from handrail.policy.rules.paths.pattern import (
    BroadPattern,
    broad_patterns,
    check_path_pattern,
)
from handrail.policy.rules.paths.touched import TouchedPath, TouchExtent
from handrail.policy.rules.rule import Rule, RuleOrigin, RuleSource
from handrail.policy.rules.rule_set import RuleSet, rules_affect_command


class ReadDenyPattern(NamedTuple):
    """A path pattern, written as in a rule, that does not come from a rule."""

    text: str
    origin: str


def build_read_denials(
    rule_set: RuleSet, extra: Iterable[ReadDenyPattern] = ()
) -> ReadDenials | None:
    """The paths that deny rules about reading and the `extra` patterns cover; None if there are none.
    Raises `invalid_arguments` for a pattern that cannot be parsed.
    """
    base = rule_set.path_base
    rules = [*filter(_denies_reading, rule_set.rules), *map(_pattern_rule, extra)]
    placed = [(rule, place) for rule in rules for place in broad_patterns(rule.pattern or "", base)]
    return ReadDenials(placed, RuleSet(rules, base)) if placed else None


class ReadDenials:
    """Implements `core.ports.read_denials.ReadDenyPatterns`."""

    def __init__(self, placed: Sequence[tuple[Rule, BroadPattern]], bare: RuleSet) -> None:
        """`bare` has the same rules and assumes that nothing enforces them."""
        globs = [compile_glob(place.top, place.names, fold=True) for _, place in placed]
        entries = [RankedRule(order, rule) for order, (rule, _) in enumerate(placed)]
        self.globs = tuple(_path_glob(rule, place) for rule, place in placed)
        self._index = RestrictionIndex(zip(globs, entries, strict=True))
        lasts = [glob.parts[-1] if glob.parts else None for glob in globs]
        # A pattern without names matches everything.
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
        """Whether the path, or a directory above it, is denied."""
        return next(self._index.find(TouchedPath(path)), None) is not None

    def ends(self, name: str) -> bool:
        """Whether a path with this last name could be denied although its directory is not."""
        if self._everything:
            return True
        # Fast, because it is called for every entry of a workspace.
        plain = name.isascii() and name[-1:] not in (".", " ")
        lowered = name.lower() if plain else fold_name(name)
        return lowered in self._names or self._wild.fullmatch(lowered) is not None

    def reaches(self, path: str) -> bool:
        """Whether a path below a directory could be denied."""
        return (
            self._floats
            or next(self._index.find(TouchedPath(path, TouchExtent.TREE)), None) is not None
        )

    def may_affect(self, analysis: CommandAnalysis) -> bool:
        """Whether the command could read a denied path if the sandbox did not hide it."""
        return rules_affect_command(self._bare, analysis)


def _denies_reading(rule: Rule) -> bool:
    return (
        rule.effect is Effect.DENY and rule.family is RuleFamily.READ and rule.pattern is not None
    )


def _pattern_rule(pattern: ReadDenyPattern) -> Rule:
    """The deny rule that is equivalent to a pattern."""
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


@dataclass(slots=True)
class ReadDenialEnforcer:
    """Makes the sandbox hide denied paths while a command runs."""

    # Finds the denied paths that exist now; blocks.
    find: Callable[[], HiddenPaths]
    # Whether the command could read a denied path if the sandbox did not hide it.
    may_affect: Callable[[CommandAnalysis], bool]
    sandbox: Sandbox
    _searched: bool = False
    # Why the paths could not all be hidden from the last command, None if they could.
    _gap: str | None = None

    def hides(self, analysis: CommandAnalysis) -> bool:
        """Whether the command will not be able to read denied paths, judged by the measured sandbox and
        by the last command that ran. The rules rely on the answer; `hidden_paths` enforces it or raises.
        """
        if not self._measured(analysis):
            return False
        if not self._searched:
            self._gap, self._searched = self.find().gap, True
        return self._gap is None

    def hidden_paths(
        self, confinement: Confinement, analysis: CommandAnalysis, *, approved: bool
    ) -> tuple[str, ...]:
        """The paths to hide from a command that runs in the confinement. Blocks. Raises `denied` if they
        cannot be hidden, unless the user knew this when approving or the command reads none of them.
        """
        measured = self._measured(analysis)
        known = not measured or self._gap is not None
        hidden = self.find()
        gap = hidden.gap or self.sandbox.hiding_gap(confinement._replace(denied_reads=hidden.paths))
        if measured:
            self._gap, self._searched = gap, True
        if gap is not None and not (approved and known) and self.may_affect(analysis):
            raise messages.READ_DENIAL_NOT_ENFORCEABLE.error(gap=gap)
        return hidden.paths

    def _measured(self, analysis: CommandAnalysis) -> bool:
        reads_only = analysis.safety_class is CommandClass.SAFE
        return sandbox_hides_paths(self.sandbox.measured, looks_only=reads_only)
