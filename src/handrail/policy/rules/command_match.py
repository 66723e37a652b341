"""Rules about commands, against every program that a command starts.

A deny or ask binds if any program fits; an allow covers only if every one is covered, and
never what is in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from handrail.core.commands import CommandClass, CommandPart, Judgement
from handrail.policy.rules.command_pattern import CommandPattern, Fit, allows, speaks_of
from handrail.policy.rules.overbroad_rules import is_interpreter, runs_what_follows
from handrail.policy.rules.path_index import Entry

_Rules = list[tuple[CommandPattern, Entry]]


class CommandHit(NamedTuple):
    """A rule that speaks of a command, how surely, and of which part of it."""

    entry: Entry
    fit: Fit
    part: str


class CommandRules:
    """The rules with patterns of words, found by the program they name."""

    def __init__(
        self,
        binding: Iterable[tuple[CommandPattern, Entry]],
        covering: Iterable[tuple[CommandPattern, Entry]],
    ) -> None:
        self._all = list(binding)
        self._binding = _by_program(self._all)
        self._covering = _by_program(covering)

    def find(self, judged: Judgement) -> Iterator[CommandHit]:
        """The deny and ask rules that speak of the command, in no order."""
        if not self._all:
            return
        if _may_hide_a_program(judged):
            # Not all of it could be read, so it may be anything as well.
            yield from (CommandHit(entry, Fit.MAYBE, "") for _, entry in self._all)
        started = {_name(program) for program in judged.effects.programs}
        started |= {_name(one.word) for one in judged.segments if one.word}
        for part in judged.parts:
            for words in _readings(part, started):
                yield from self._of_words(words, part.source)
        yield from self._wrappers(judged, started)

    def cover(self, judged: Judgement, *, confined: bool) -> Entry | None:
        """The allow rule of the first part, if every part has one."""
        if not judged.plain or judged.unconfined or judged.klass is CommandClass.BLOCKED:
            return None
        first: Entry | None = None
        for part in judged.parts:
            found = self._covers(part, confined=confined)
            if found is None:
                return None
            first = first or found
        return first

    def _covers(self, part: CommandPart, *, confined: bool) -> Entry | None:
        program = part.words[0] if part.words else None
        for pattern, entry in self._covering.get(_name(program or ""), ()):
            if (confined or not entry.rule.confined) and allows(pattern, part.words):
                return entry
        return None

    def _of_words(self, words: Sequence[str | None], source: str) -> Iterator[CommandHit]:
        program = words[0] if words else ""
        rules = self._all if program is None else self._named(_name(program))
        for pattern, entry in rules:
            fit = speaks_of(pattern, words)
            if fit is not Fit.NO:
                yield CommandHit(entry, fit, source)

    def _wrappers(self, judged: Judgement, started: set[str]) -> Iterator[CommandHit]:
        """Programs that run others (`sudo`, `xargs`) have no part of their own: a rule about
        such a program as a whole binds by its name alone, one with further words may mean it.
        """
        seen = {_name(word) for part in judged.parts for word in part.words if word is not None}
        for name in started - seen:
            for pattern, entry in self._named(name):
                whole = len(pattern.words) == 1
                yield CommandHit(entry, Fit.SURE if whole else Fit.MAYBE, name)

    def _named(self, program: str) -> _Rules:
        return [*self._binding.get(program, ()), *self._binding.get("", ())]


def _may_hide_a_program(judged: Judgement) -> bool:
    """Whether it may start one that none of its parts shows. A computed argument is none,
    unless what takes it starts the program that it names.
    """
    if not judged.parts:
        return judged.klass is not CommandClass.SAFE
    if judged.plain or judged.klass < CommandClass.DANGEROUS:
        return False
    handed = any(None in part.words and runs_what_follows(part.words) for part in judged.parts)
    return handed or not judged.told


def _by_program(rules: Iterable[tuple[CommandPattern, Entry]]) -> dict[str, _Rules]:
    found: dict[str, _Rules] = {}
    for pattern, entry in rules:
        program = "" if "*" in pattern.program else pattern.program
        found.setdefault(program, []).append((pattern, entry))
    return found


def _readings(part: CommandPart, started: set[str]) -> Iterator[Sequence[str | None]]:
    """The words as they stand, and from each further program that they start (`uv run rm x`)
    or script that they run (`bash x.sh`).
    """
    yield part.words
    first = part.words[0] if part.words else None
    runs = first is not None and (is_interpreter(_name(first)) or first in ("source", "."))
    for at, word in enumerate(part.words):
        if at and word is not None and (_name(word) in started or runs):
            yield part.words[at:]


def _name(program: str) -> str:
    return program.rpartition("/")[2].lower()
