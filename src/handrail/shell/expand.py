"""Word expansion: what the words of a command become when the shell expands them.

The parser has removed quotes. This module does the rest: braces, tilde, variables, output of
`$(echo …)`, splitting at blanks. There are two views of one expansion. The *certain* view leaves a
gap wherever only the run time decides; the classifier uses it. The *likely* view fills each gap
with the best guess that the text of the command allows; the blocklist uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod
from typing import Final, NamedTuple

from handrail.shell.echo import printed_text
from handrail.shell.parse.syntax import (
    Braces,
    Opaque,
    Part,
    Script,
    SimpleCommand,
    Substitution,
    Text,
    Variable,
    Word,
)
from handrail.shell.parse.words import variable_names
from handrail.shell.word_pieces import (
    NUMBERS,
    Field,
    WordPiece,
    drop_tilde,
    is_small_number,
    leaves_nothing,
    merge_pieces,
)

# Marks in the likely view. Private code points cannot occur in a path or an option by accident.
UNKNOWN: Final = "\ue003"
# The value of a variable that the command does not set: empty unless it is inherited.
UNSET: Final = "\ue005"
_SPLIT: Final = "\ue004"
# Where the shell splits unquoted values unless IFS says otherwise.
BLANKS: Final = " \t\n"
# Glob characters that stand for themselves.
_QUOTED: Final = {"*": "\ue000", "?": "\ue001", "[": "\ue002"}
_HIDE: Final = str.maketrans(_QUOTED)
_SHOW: Final = str.maketrans({mark: char for char, mark in _QUOTED.items()})

MAX_READINGS: Final = 256
_MIN_READINGS: Final = 16
_MAX_READINGS_PER_COMMAND: Final = 20_000
_MAX_LIKELY_PARTS: Final = 64
_MAX_DEPTH: Final = 4
# Variables expanded for one command; values that refer to each other could go on for long.
_MAX_NESTED: Final = 2000
_DEFAULTS: Final = frozenset({"-", ":-", "=", ":="})
_ALTERNATES: Final = frozenset({"+", ":+"})


class Binding(NamedTuple):
    """The values of a variable that a command sets or is given."""

    # Every value written anywhere in the command or its environment.
    assigned: tuple[Word, ...]
    # All values that the variable can have once it is set; None if others may occur.
    complete: tuple[Word, ...] | None
    # The command may use the variable before it sets it.
    may_be_unset: bool = True


class _Value(NamedTuple):
    word: Word
    pieces: tuple[WordPiece, ...]


_UNBOUND: Final = Binding((), None)
_NO_VALUE: Final = _Value(Word("", ()), ())
# The extended globs that match any number of names.
_REPEATS: Final = ("!(", "*(", "+(")


# The values of a variable or a substitution that is simulated; None if they are not known.
Resolver = Callable[[Variable | Substitution], Sequence[str] | None]


class Expander:
    """Expands the words of one command, given the variables that the command sets.

    `resolve` supplies values for the likely view before any binding is looked at. `separators`
    are the characters at which that view splits unquoted values.
    """

    def __init__(
        self,
        bindings: Mapping[str, Binding],
        home: str,
        *,
        invocations: int = 1,
        resolve: Resolver | None = None,
        separators: str = BLANKS,
    ) -> None:
        self.bindings = bindings
        self.home = home
        self._resolve = resolve
        self.separators = separators
        share = _MAX_READINGS_PER_COMMAND // max(1, invocations)
        self._limit = max(_MIN_READINGS, min(MAX_READINGS, share))
        self._expanded: dict[tuple[str, str | None, bool], list[_Value]] = {}
        self._nested_left = _MAX_NESTED

    def resolved(self, part: Part) -> Sequence[str] | None:
        """The simulated values of a part; None if there are none."""
        if self._resolve is None or not isinstance(part, Variable | Substitution):
            return None
        return self._resolve(part)

    def certain(
        self, words: Sequence[Word], cwd: str | None, bound: frozenset[str] = frozenset()
    ) -> Iterator[tuple[Field, ...]]:
        """The fields for each combination of variable values; gaps where a value is not certain.

        With too many combinations every variable is a gap. `bound` are variables that are set.
        """
        for chosen in self._choices(words, cwd, likely=False, bound=bound):
            yield _WordReading(self, cwd, chosen, likely=False).fields(words)

    def likely(self, words: Sequence[Word], cwd: str | None) -> Iterator[tuple[str, ...]]:
        """The fields as text for each combination of values, gaps filled with a guess.

        Inactive glob characters are marked, see `literal`. Combinations beyond a limit are left out.
        """
        for chosen in self._choices(words, cwd, likely=True):
            yield tuple(_WordReading(self, cwd, chosen, likely=True).texts(words))

    def _choices(
        self,
        words: Sequence[Word],
        cwd: str | None,
        *,
        likely: bool,
        bound: frozenset[str] = frozenset(),
    ) -> Iterator[Mapping[str, Sequence[_Value]]]:
        names = sorted(
            name
            for name in variable_names(words, nested=likely)
            if self._words(name, likely=likely)
        )
        values = [self._top_values(name, cwd, likely=likely) for name in names]
        if not likely:
            # A word that is nothing but an unset variable vanishes; only a longer one changes.
            partly = variable_names([word for word in words if len(word.parts) > 1], nested=False)
            for name, known in zip(names, values, strict=True):
                if name in partly - bound and self.bindings[name].may_be_unset:
                    known.append(_NO_VALUE)
        if not likely and prod(map(len, values)) > self._limit:
            yield {}
            return
        for chosen in islice(product(*values), self._limit):
            yield {name: (one,) for name, one in zip(names, chosen, strict=True)}

    def _top_values(self, name: str, cwd: str | None, *, likely: bool) -> list[_Value]:
        key = name, cwd, likely
        if key not in self._expanded:
            self._expanded[key] = self._values(name, cwd, likely=likely)
        return list(self._expanded[key])

    def _values(
        self, name: str, cwd: str | None, *, likely: bool, inside: frozenset[str] = frozenset()
    ) -> list[_Value]:
        """The expanded values of a variable. `inside`: variables whose values refer to `name`."""
        self._nested_left -= 1
        if self._nested_left < 0:
            return [_Value(Word("", ()), (WordPiece(Opaque(name), None),))]
        inside |= {name}
        found: list[_Value] = []
        for word in self._words(name, likely=likely):
            nested = {
                other: self._values(other, cwd, likely=likely, inside=inside)
                for other in variable_names([word], nested=likely) - inside
                if len(inside) <= _MAX_DEPTH and self._words(other, likely=likely)
            }
            reading = _WordReading(self, cwd, nested, likely=likely, depth=len(inside))
            found += [_Value(word, pieces) for pieces in reading.alternatives(word.parts)]
            if len(found) > self._limit:
                break
        if not likely and len(inside) > 1 and self.bindings[name].may_be_unset:
            found.append(_NO_VALUE)
        return found[: self._limit + 1]

    def _words(self, name: str, *, likely: bool) -> tuple[Word, ...]:
        assigned, complete, _ = self.bindings.get(name, _UNBOUND)
        return assigned if likely else complete or ()


@dataclass(frozen=True, slots=True)
class _WordReading:
    """One way to expand words: `chosen` holds the values that each variable may have in it."""

    expander: Expander
    cwd: str | None
    chosen: Mapping[str, Sequence[_Value]]
    likely: bool
    depth: int = 0

    def fields(self, words: Iterable[Word]) -> tuple[Field, ...]:
        """The fields that the words become; braces make several of one word."""
        found: list[Field] = []
        for word in words:
            ways = self.alternatives(word.parts)
            if len(ways) > MAX_READINGS:
                ways = [(WordPiece(Opaque(word.source), None),)]
            found += [
                Field(word.source, merge_pieces(pieces))
                for pieces in ways
                if not leaves_nothing(word, pieces)
            ]
        return tuple(found)

    def alternatives(self, parts: Sequence[Part]) -> list[tuple[WordPiece, ...]]:
        """All that the parts may become, braces and known variables filled in."""
        if self.likely and len(parts) > _MAX_LIKELY_PARTS:
            return [(WordPiece(Opaque(""), None),)]
        made: list[tuple[WordPiece, ...]] = [()]
        for number, part in enumerate(parts):
            options = self._options(part, first=number == 0)
            ways = (start + end for start in made for end in options)
            made = list(islice(ways, MAX_READINGS + 1))
        return made

    def _options(self, part: Part, *, first: bool) -> Sequence[tuple[WordPiece, ...]]:
        values = self.expander.resolved(part)
        if values is not None:
            return [(_simulated(part, values),)]
        match part:
            case Text(text, quoted):
                tilde = first and not quoted and text.startswith("~")
                return [(WordPiece(part, text, globs=not quoted, tilde=tilde),)]
            case Braces(alternatives):
                ways = [way for one in alternatives for way in self.alternatives(one.parts)]
                return ways if first else [drop_tilde(way) for way in ways]
            case Variable(plain=True) if part.name in self.chosen:
                return [self._value(part, one) for one in self.chosen[part.name]]
        return self._guessed_options(part) if self.likely else [(self._piece(part),)]

    def _guessed_options(self, part: Part) -> Sequence[tuple[WordPiece, ...]]:
        match part:
            case Variable(plain=False) if part.operands:
                return self._defaulted(part)
            case Opaque(source=source, inner=(word,)) if source.startswith('$"'):
                # Translated text: most likely there is no translation.
                return self.alternatives(word.parts)
        return [(self._piece(part),)]

    def _value(self, variable: Variable, value: _Value) -> tuple[WordPiece, ...]:
        """A value as it stands where the variable stood."""
        made: list[WordPiece] = []
        for piece in value.pieces:
            if isinstance(piece.part, Text):
                text, splits = self._home_text(piece), not variable.quoted
                if splits and not self.likely and re.search(r"\s", text):
                    # Which words the value becomes is not worked out.
                    made.append(WordPiece(Opaque(value.word.source), None))
                else:
                    tilde, globs = piece.tilde and text.startswith("~"), value.word.globs or splits
                    made.append(WordPiece(piece.part, text, globs, tilde, splits, not splits))
            elif isinstance(piece.part, Variable | Substitution):
                part = replace(piece.part, quoted=variable.quoted)
                made.append(piece._replace(part=part, splits=not variable.quoted))
            elif (
                isinstance(piece.part, Opaque) and piece.part.is_placeholder and not variable.quoted
            ):
                # The path that a search fills in may have blanks in it.
                made.append(WordPiece(Opaque(value.word.source), None))
            else:
                made.append(piece)
        if not made and variable.quoted:
            made.append(WordPiece(Text("", quoted=True), ""))
        return tuple(made)

    def _home_text(self, piece: WordPiece) -> str:
        """A `~` at the start of a value was expanded when the value was assigned."""
        text = piece.text or ""
        mine = piece.tilde and (text == "~" or text.startswith("~/"))
        return self.expander.home + text[1:] if mine else text

    def _defaulted(self, part: Variable) -> Sequence[tuple[WordPiece, ...]]:
        """`${x:-y}` and `${x:+y}` in the likely view."""
        default = Word("", part.operands[0].parts)
        ways = [self._value(part, _Value(default, way)) for way in self.alternatives(default.parts)]
        if part.operator in _ALTERNATES:
            return ways
        if part.operator not in _DEFAULTS:
            return [(WordPiece(part, None),)]
        known = self._options(replace(part, plain=True), first=False)
        texts = {"".join(map(self._guess, way)) for way in known}
        return ways if texts & {UNKNOWN, UNSET} else known

    def _piece(self, part: Part) -> WordPiece:
        """A part that is neither text nor braces nor a chosen variable."""
        match part:
            case Variable(plain=True, name=name):
                if NUMBERS.fullmatch(name):
                    return WordPiece(part, "*", globs=True)
                known = {"HOME": self.expander.home, "PWD": self.cwd}.get(name)
                return WordPiece(part, known, splits=not part.quoted)
            case Substitution(kind=kind):
                # Bash opens the first free descriptor below 64.
                text = None if kind == "output" else "/dev/fd/63"
                return WordPiece(part, text, splits=not part.quoted)
            case Opaque(source=source) if is_small_number(source):
                return WordPiece(part, "*", globs=True)
        return WordPiece(part, None)

    def texts(self, words: Iterable[Word]) -> Iterator[str]:
        """The fields of the likely view as text."""
        for field in self.fields(words):
            text = "".join(self._guess(piece) for piece in field.pieces)
            yield from (one for one in text.split(_SPLIT) if one or _SPLIT not in text)

    def _guess(self, piece: WordPiece) -> str:
        part, text = piece.part, piece.text
        if isinstance(part, Substitution):
            text = self._output(part.script)
        elif isinstance(part, Opaque) and part.source[:2] in _REPEATS:
            return "*"
        elif isinstance(part, Opaque) or (isinstance(part, Variable) and text in (None, "*")):
            text = _unknown(part)
        if text is None:
            return UNKNOWN
        if piece.tilde:
            text = self._tilde(text)
        if piece.splits:
            separators = self.expander.separators
            return re.sub(f"[{re.escape(separators)}]+", _SPLIT, text) if separators else text
        return text if piece.globs else literal(text)

    def _tilde(self, text: str) -> str:
        name, slash, rest = text[1:].partition("/")
        if name == "+":
            return (self.cwd or UNKNOWN) + slash + rest
        if name.startswith("-"):
            return UNKNOWN + slash + rest
        home = {"": self.expander.home, "root": "/root"}.get(name, f"/home/{name}")
        return home + slash + rest

    def _output(self, script: Script) -> str:
        """What a substitution prints, if it is one `echo`, `printf` or `pwd`."""
        if len(script.statements) != 1 or self.depth >= _MAX_DEPTH:
            return UNKNOWN
        command = script.statements[0].command
        if not isinstance(command, SimpleCommand) or not command.words:
            return UNKNOWN
        deeper = replace(self, depth=self.depth + 1)
        return printed_field(list(deeper.texts(command.words)), self.cwd).rstrip("\n")


def _simulated(part: Part, values: Sequence[str]) -> WordPiece:
    """Simulated values: each is a word of its own, and an unquoted one is split further."""
    text, quoted = _SPLIT.join(values), getattr(part, "quoted", True)
    return WordPiece(Text(text, quoted), text, globs=not quoted, splits=not quoted)


def plain_text(field: str) -> str:
    """A field of the likely view with the marks of inactive glob characters removed."""
    return field.translate(_SHOW)


def literal(text: str) -> str:
    """Text as a field of the likely view in which no glob is active."""
    return text.translate(_HIDE)


def printed_field(fields: Sequence[str], cwd: str | None) -> str:
    """What a program with these fields prints, as a field; `UNKNOWN` if that is not known."""
    text = printed_text(fields, cwd)
    return UNKNOWN if text is None else text


def _unknown(part: Part) -> str | None:
    """The mark of a gap."""
    if not isinstance(part, Variable):
        return None
    if part.name == "IFS":
        return " "
    unset = part.plain and part.name.isidentifier() and part.name != "PWD"
    return UNSET if unset else None
