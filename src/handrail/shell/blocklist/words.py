"""What the words of a command stand for, as far as its text shows: quotes, braces, tilde,
variables set in the same command, `$(echo …)`.

A field keeps its active globs; a quoted glob character is marked, so that it means itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Final

from handrail.shell.analyze.invocation import Invocation
from handrail.shell.parse.syntax import (
    Assignment,
    Braces,
    Part,
    Script,
    Simple,
    Substitution,
    Text,
    Variable,
    Word,
)

# Private code points: they cannot be mistaken for anything that a path or an option means.
UNKNOWN: Final = "\ue003"
# A variable that nobody sets: empty, unless it is inherited.
UNSET: Final = "\ue005"
_SPLIT: Final = "\ue004"
_QUOTED: Final = {"*": "\ue000", "?": "\ue001", "[": "\ue002"}
_HIDE: Final = str.maketrans(_QUOTED)
_SHOW: Final = str.maketrans({mark: char for char, mark in _QUOTED.items()})

_MOST_FIELDS: Final = 64
_MOST_READINGS: Final = 16
# A word of more parts is no path and no option; spelling it out would take too long.
_MOST_PARTS: Final = 64
_DEEPEST: Final = 4
_DEFAULTED: Final = r"\$\{%s:?[-=+]"


def plain(field: str) -> str:
    """The field as text, once its globs no longer matter."""
    return field.translate(_SHOW)


def literal(text: str) -> str:
    """Text as a field in which nothing is a glob."""
    return text.translate(_HIDE)


class Values:
    """The variables that a command sets, each with every value it is ever given."""

    def __init__(
        self, invocations: Iterable[Invocation], home: str, env: Mapping[str, str]
    ) -> None:
        self._home = home
        self._given: dict[str, list[Word]] = {
            name: [Word(value, (Text(value, quoted=True),))] for name, value in env.items()
        }
        for invocation in invocations:
            for assignment in invocation.assignments:
                self._note(assignment)

    def _note(self, assignment: Assignment) -> None:
        if assignment.value is not None:
            self._given.setdefault(assignment.name, []).append(assignment.value)

    def words(self, name: str) -> Sequence[Word]:
        """What a variable is set to, as written."""
        return self._given.get(name, ())

    def readings(self, words: Sequence[Word], cwd: str | None) -> Iterator[tuple[str, ...]]:
        """The fields that the words become, once for each combination of values."""
        names = sorted(self._used(words))
        choices = product(*(self._given[name] for name in names))
        for chosen in islice(choices, _MOST_READINGS):
            expansion = _Expansion(self._home, cwd, dict(zip(names, chosen, strict=True)))
            yield tuple(field for word in words for field in expansion.fields(word))

    def _used(self, words: Iterable[Word]) -> set[str]:
        used: set[str] = set()
        waiting = list(words)
        while waiting:
            fresh = set(_names(waiting.pop())) & self._given.keys() - used
            used |= fresh
            waiting += [value for name in fresh for value in self._given[name]]
        return used


class _Expansion:
    def __init__(
        self, home: str, cwd: str | None, values: Mapping[str, Word], depth: int = 0
    ) -> None:
        self._home = home
        self._cwd = cwd
        self._values = values
        self._depth = depth

    def fields(self, word: Word) -> list[str]:
        found = []
        for text in self.texts(word):
            found += [one for one in text.split(_SPLIT) if one or _SPLIT not in text]
        return found

    def texts(self, word: Word) -> list[str]:
        if len(word.parts) > _MOST_PARTS:
            return [UNKNOWN]
        texts = [""]
        for number, part in enumerate(word.parts):
            more = self._part(word, part, first=number == 0)
            texts = [one + other for one in texts for other in more][:_MOST_FIELDS]
        return texts

    def _part(self, word: Word, part: Part, *, first: bool) -> list[str]:
        match part:
            case Text():
                if part.quoted:
                    return [literal(part.text)]
                return [self._tilde(part.text) if first else part.text]
            case Variable():
                return [self._variable(word, part)]
            case Substitution():
                return [_divided(self._output(part.script), quoted=part.quoted)]
            case Braces():
                return [text for one in part.alternatives for text in self.texts(one)]
            case _:
                return [UNKNOWN]

    def _tilde(self, text: str) -> str:
        if not text.startswith("~"):
            return text
        name, slash, rest = text[1:].partition("/")
        if name == "+":
            return (self._cwd or UNKNOWN) + slash + rest
        if name.startswith("-"):
            return UNKNOWN + slash + rest
        home = {"": self._home, "root": "/root"}.get(name, f"/home/{name}")
        return home + slash + rest

    def _variable(self, word: Word, part: Variable) -> str:
        if part.plain:
            return _divided(self._value(part), quoted=part.quoted)
        known = self._value(part)
        defaulted = re.search(_DEFAULTED % re.escape(part.name), word.source)
        if defaulted and part.inner and known in (UNSET, UNKNOWN):
            return _divided("".join(self.texts(part.inner[0])[:1]), quoted=part.quoted)
        return _divided(known, quoted=part.quoted) if defaulted else UNKNOWN

    def _value(self, part: Variable) -> str:
        if part.name in self._values and self._depth < _DEEPEST:
            deeper = _Expansion(self._home, self._cwd, self._values, self._depth + 1)
            return "".join(deeper.texts(self._values[part.name])[:1])
        if part.name == "IFS":
            return " "
        if part.name == "PWD":
            return self._cwd or UNKNOWN
        if part.name == "HOME":
            return self._home
        return UNSET if part.name.isidentifier() else UNKNOWN

    def _output(self, script: Script) -> str:
        """What a substitution prints, if it does no more than say it."""
        if len(script.statements) != 1 or self._depth >= _DEEPEST:
            return UNKNOWN
        command = script.statements[0].command
        if not isinstance(command, Simple) or not command.words:
            return UNKNOWN
        deeper = _Expansion(self._home, self._cwd, self._values, self._depth + 1)
        fields = [field for word in command.words for field in deeper.fields(word)]
        return printed(fields, self._cwd)


def printed(fields: Sequence[str], cwd: str | None) -> str:
    """What `echo`, `printf` or `pwd` with these fields prints, without the line end."""
    program, rest = fields[0].rpartition("/")[2], list(fields[1:])
    if program == "pwd":
        return cwd or UNKNOWN
    if program in ("which", "command", "type") and rest:
        return rest[-1]
    if program == "echo":
        while rest and re.fullmatch(r"-[neE]+", rest[0]):
            rest.pop(0)
        return " ".join(rest)
    if program == "printf" and rest:
        if "%" not in rest[0]:
            return rest[0].removesuffix("\\n")
        return " ".join(rest[1:])
    return UNKNOWN


def _divided(value: str, *, quoted: bool) -> str:
    if quoted:
        return value.translate(_HIDE)
    return re.sub(r"[ \t\n]+", _SPLIT, value)


def _names(word: Word, depth: int = 0) -> Iterator[str]:
    for part in word.parts:
        if isinstance(part, Variable):
            yield part.name
        elif isinstance(part, Braces) and depth < _DEEPEST:
            for one in part.alternatives:
                yield from _names(one, depth + 1)
        elif isinstance(part, Substitution) and depth < _DEEPEST:
            for one in words_of(part.script):
                yield from _names(one, depth + 1)


def words_of(script: Script) -> Iterator[Word]:
    """The words of a script that is one simple command; none of a larger one."""
    for statement in script.statements:
        if isinstance(statement.command, Simple):
            yield from statement.command.words
