"""Matches rules about commands with every program that a command starts.

A deny or ask rule applies if any program matches; allow rules cover a command only if they cover every
program for certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from handrail.core.commands import CommandAnalysis, CommandClass, CommandPart
from handrail.policy.rules.command_pattern import (
    CommandPattern,
    MatchCertainty,
    covers_words,
    match_words,
)
from handrail.policy.rules.overbroad_rules import is_interpreter, runs_other_program
from handrail.policy.rules.paths.index import RankedRule

_Rules = list[tuple[CommandPattern, RankedRule]]


class CommandRuleMatch(NamedTuple):
    """A rule that matches a command: how certain, and which part of the command."""

    entry: RankedRule
    fit: MatchCertainty
    part: str


class CommandRules:
    """The rules about commands, indexed by the program that they name."""

    def __init__(
        self,
        binding: Iterable[tuple[CommandPattern, RankedRule]],
        covering: Iterable[tuple[CommandPattern, RankedRule]],
    ) -> None:
        self._all = list(binding)
        self._binding = _index_by_program(self._all)
        self._covering = _index_by_program(covering)

    def find(self, analysis: CommandAnalysis) -> Iterator[CommandRuleMatch]:
        """Yield the deny and ask rules that match the command, in no particular order."""
        if not self._all:
            return
        if _may_hide_program(analysis):
            # A hidden program may match any rule.
            yield from (CommandRuleMatch(entry, MatchCertainty.MAYBE, "") for _, entry in self._all)
        started = {_program_name(program) for program in analysis.effects.programs}
        started |= {_program_name(one.word) for one in analysis.segments if one.word}
        for part in analysis.parts:
            for words in _readings(part, started):
                yield from self._of_words(words, part.source)
        yield from self._wrappers(analysis, started)

    def cover(self, analysis: CommandAnalysis, *, confined: bool) -> RankedRule | None:
        """The allow rule that covers the first program, if every program is covered; otherwise None."""
        if (
            not analysis.rule_matchable
            or analysis.unconfined
            or analysis.safety_class is CommandClass.BLOCKED
        ):
            return None
        first: RankedRule | None = None
        for part in analysis.parts:
            found = self._covers(part, confined=confined)
            if found is None:
                return None
            first = first or found
        return first

    def _covers(self, part: CommandPart, *, confined: bool) -> RankedRule | None:
        program = part.words[0] if part.words else None
        for pattern, entry in self._covering.get(_program_name(program or ""), ()):
            if (confined or not entry.rule.confined) and covers_words(pattern, part.words):
                return entry
        return None

    def _of_words(self, words: Sequence[str | None], source: str) -> Iterator[CommandRuleMatch]:
        program = words[0] if words else ""
        rules = self._all if program is None else self._named(_program_name(program))
        for pattern, entry in rules:
            fit = match_words(pattern, words)
            if fit is not MatchCertainty.NO:
                yield CommandRuleMatch(entry, fit, source)

    def _wrappers(self, analysis: CommandAnalysis, started: set[str]) -> Iterator[CommandRuleMatch]:
        """Yield the rules about programs that run others (`sudo`, `xargs`), which are not among the parts
        of the analysis. A rule that is only the program's name matches for certain, one with further
        words may match.
        """
        seen = {
            _program_name(word)
            for part in analysis.parts
            for word in part.words
            if word is not None
        }
        for name in started - seen:
            for pattern, entry in self._named(name):
                whole = len(pattern.words) == 1
                yield CommandRuleMatch(
                    entry, MatchCertainty.SURE if whole else MatchCertainty.MAYBE, name
                )

    def _named(self, program: str) -> _Rules:
        return [*self._binding.get(program, ()), *self._binding.get("", ())]


def _may_hide_program(analysis: CommandAnalysis) -> bool:
    """Whether the command may start a program that is not among its parts. A computed argument is no
    reason, unless the program runs its argument.
    """
    if not analysis.parts:
        return analysis.safety_class is not CommandClass.SAFE
    if analysis.rule_matchable or analysis.safety_class < CommandClass.DANGEROUS:
        return False
    handed = any(None in part.words and runs_other_program(part.words) for part in analysis.parts)
    return handed or not analysis.fully_listed


def _index_by_program(rules: Iterable[tuple[CommandPattern, RankedRule]]) -> dict[str, _Rules]:
    found: dict[str, _Rules] = {}
    for pattern, entry in rules:
        program = "" if "*" in pattern.program else pattern.program
        found.setdefault(program, []).append((pattern, entry))
    return found


def _readings(part: CommandPart, started: set[str]) -> Iterator[Sequence[str | None]]:
    """Yield the words of a part, and the words from each further program that it starts (`uv run rm x`)
    or script that it runs (`bash x.sh`).
    """
    yield part.words
    first = part.words[0] if part.words else None
    runs = first is not None and (is_interpreter(_program_name(first)) or first in ("source", "."))
    for at, word in enumerate(part.words):
        if at and word is not None and (_program_name(word) in started or runs):
            yield part.words[at:]


def _program_name(program: str) -> str:
    return program.rpartition("/")[2].lower()
