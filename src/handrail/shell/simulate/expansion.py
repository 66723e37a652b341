"""Expands words with the values of a simulated shell, by the one expander of this package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import translate
from itertools import count
from typing import Final

from handrail.shell.expand import BLANKS, UNKNOWN, UNSET, Expander, plain_text
from handrail.shell.parse.syntax import (
    Assignment,
    Opaque,
    Part,
    Redirect,
    Substitution,
    Text,
    Variable,
    Word,
)
from handrail.shell.simulate.shell_state import ShellState

_LONGEST: Final = 1024
_NUMBER: Final = re.compile(r"\s*-?\d+\s*")
_REMOVALS: Final = frozenset({"#", "##", "%", "%%"})
_PATTERNS: Final = _REMOVALS | {"/", "//"}
_CASES: Final[Mapping[str, Callable[[str], str]]] = {
    ",,": str.lower,
    "^^": str.upper,
    ",": lambda text: text[:1].lower() + text[1:],
    "^": lambda text: text[:1].upper() + text[1:],
}

_MARKS: Final = {"\ue000": "*", "\ue001": "?", "\ue002": "["}
_MARK: Final = re.compile(f"([{''.join(_MARKS)}{UNKNOWN}{UNSET}])")
_DEFAULTS: Final = frozenset({"-", ":-", "=", ":="})
_LISTS: Final = ("@", "*")


class StateExpansion:
    """Expands words in one state. `run` returns what a substitution prints."""

    def __init__(self, state: ShellState, run: Callable[[Substitution], str | None]) -> None:
        self._state = state
        self._run = run
        separators = (state.values("IFS") or [BLANKS])[0]
        self._expander = Expander(
            {}, state.home, resolve=self._resolve, separators=plain_text(separators)
        )

    def fields(self, words: Iterable[Word]) -> list[str]:
        """The fields that the words become, in the notation of the likely view."""
        return list(next(self._expander.likely(tuple(words), self._state.cwd), ()))

    def text(self, word: Word) -> str:
        """The word as one text, as in an assignment: nothing is split."""
        return plain_text(self._unsplit(word))

    def redirects(self, redirects: Iterable[Redirect]) -> tuple[Redirect, ...]:
        """The redirects with their targets and texts expanded."""
        made = []
        for one in redirects:
            fields = self.fields([one.target]) or [""]
            text = None if one.body is None else self.text(one.body)
            if one.operator == "<<<":
                text = self.text(one.target)
            body = None if text is None else concrete_word(text)
            made.append(Redirect(one.operator, concrete_word(fields[0]), one.fd, body))
        return tuple(made)

    def assign(self, assignment: Assignment, state: ShellState) -> None:
        """Carry out an assignment in `state`."""
        name, appends = assignment.name, assignment.appends
        if assignment.elements is not None:
            elements = [
                (None if key is None else self.text(key), plain_text(text))
                for key, word in assignment.elements
                for text in (self.fields([word]) or [""])
            ]
            state.assign_elements(name, elements, appends=appends)
        elif assignment.value is not None and assignment.index is not None:
            element = self.text(assignment.index), self.text(assignment.value)
            state.assign_elements(name, [element], appends=True)
        elif assignment.value is not None:
            state.assign(name, self.text(assignment.value), appends=appends)
        elif not assignment.inner:
            state.assign(name, "")

    def _unsplit(self, word: Word) -> str:
        parts = tuple(
            replace(part, quoted=True) if isinstance(part, Variable | Substitution) else part
            for part in word.parts
        )
        return " ".join(self.fields([Word(word.source, parts)]))

    def _pattern(self, word: Word) -> str:
        """The word as a glob in which quoted characters stand for themselves."""
        return _MARK.sub(
            lambda mark: f"[{_MARKS[mark[0]]}]" if mark[0] in _MARKS else mark[0],
            self._unsplit(word),
        )

    def _resolve(self, part: Variable | Substitution) -> list[str] | None:
        if isinstance(part, Substitution):
            return self._substituted(part)
        key = self.text(part.index[0]) if part.index else None
        values = self._state.values(part.name, key)
        if part.operator in ("!", "+", ":+"):
            found = self._state.values(values[0]) if values and part.operator == "!" else None
            return found if part.operator == "!" else self._operand(part) if values else [""]
        if part.operator in _DEFAULTS:
            return self._defaulted(part, values)
        if values is None:
            # The shell that runs a command has no arguments.
            return [""] if part.plain and part.name.isdigit() else None
        return self._changed(part, values, key)

    def _changed(self, part: Variable, values: list[str], key: str | None) -> list[str]:
        if part.operator in ("", "?", ":?"):
            return values if part.name in _LISTS or key in _LISTS else values[:1]
        first = self._pattern if part.operator in _PATTERNS else self.text
        operands = [*map(first, part.operands[:1]), *map(self.text, part.operands[1:])]
        if part.operator == ":" and (part.name in _LISTS or key in _LISTS):
            # The arguments begin with the name of the shell.
            given = [self._state.name, *values] if part.name in _LISTS else values
            return _sliced(given, operands)
        return [apply_operator(value, part.operator, operands) for value in values]

    def _operand(self, part: Variable) -> list[str]:
        return [self.text(part.operands[0])] if part.operands else [""]

    def _defaulted(self, part: Variable, values: list[str] | None) -> list[str]:
        if values and (values[0] or ":" not in part.operator):
            return values
        given = self._operand(part)
        if "=" in part.operator:
            self._state.assign(part.name, given[0])
        return given

    def _substituted(self, part: Substitution) -> list[str] | None:
        printed = self._run(part)
        if part.kind == "output":
            return [UNKNOWN] if printed is None else [printed.rstrip("\n")]
        path = next(path for n in count(63) if (path := f"/dev/fd/{n}") not in self._state.files)
        self._state.write(path, UNKNOWN if printed is None else printed)
        return [path]


def concrete_word(field: str) -> Word:
    """A field of the likely view as a word that expands to the same field again."""
    parts: list[Part] = []
    for piece in filter(None, _MARK.split(field)):
        if piece in _MARKS:
            parts.append(Text(_MARKS[piece], quoted=True))
        elif piece == UNKNOWN:
            parts.append(Opaque(""))
        elif piece == UNSET:
            parts.append(Variable("unset_variable", quoted=True, plain=True))
        else:
            parts.append(Text(piece))
    first = parts[0] if parts else None
    if isinstance(first, Text) and first.text.startswith("~"):
        # The tilde was expanded, if it was one.
        parts[:1] = [Text("~", quoted=True), Text(first.text[1:])]
    return Word(plain_text(field), tuple(parts) or (Text("", quoted=True),))


def apply_operator(value: str, operator: str, operands: Sequence[str]) -> str:
    """The value after an operator that changes text; `UNKNOWN` if the result is not known."""
    if operator == "length":
        return UNKNOWN if is_open(value) else str(len(value))
    if is_open(value) or any(map(is_open, operands)) or len(value) > _LONGEST:
        return UNKNOWN
    first = operands[0] if operands else ""
    if operator in _REMOVALS:
        return _without(value, operator, first)
    if operator in ("/", "//"):
        return _replaced(value, operator, first, operands[1] if len(operands) > 1 else "")
    if operator == ":":
        return _slice(value, operands)
    change = _CASES.get(operator)
    return value if change is None else change(value)


def is_open(text: str) -> bool:
    """Whether a part of the text is not known."""
    return UNKNOWN in text or UNSET in text


def _without(value: str, operator: str, pattern: str) -> str:
    """The value without its shortest or longest beginning (`#`) or end (`%`) that matches."""
    matches = re.compile(translate(pattern)).match
    from_start = operator[0] == "#"
    sizes: Sequence[int] = range(len(value) + 1)
    if len(operator) == 2:
        sizes = sizes[::-1]
    for size in sizes:
        piece = value[:size] if from_start else value[len(value) - size :]
        if matches(piece):
            return value[size:] if from_start else value[: len(value) - size]
    return value


def _replaced(value: str, operator: str, pattern: str, new: str) -> str:
    anchor = pattern[:1] if pattern[:1] in ("#", "%") and operator == "/" else ""
    body = translate(pattern[len(anchor) :]).removesuffix(r"\Z").removesuffix(r"\z")
    look = {"#": rf"\A{body}", "%": rf"{body}\Z"}.get(anchor, body)
    return re.sub(look, lambda _: new, value, count=0 if operator == "//" else 1)


def _slice(value: str, operands: Sequence[str]) -> str:
    if not all(_NUMBER.fullmatch(one) for one in operands):
        return UNKNOWN
    return value[_extent(operands, len(value))]


def _sliced(values: list[str], operands: Sequence[str]) -> list[str]:
    """The elements that `${a[@]:1:2}` takes; all of them if the numbers are not known."""
    if not all(_NUMBER.fullmatch(one) for one in operands):
        return values
    return values[_extent(operands, len(values))]


def _extent(operands: Sequence[str], size: int) -> slice:
    """What a slice takes of a value; a negative number counts from the end."""
    numbers = [int(one) for one in operands]
    start = numbers[0] if numbers else 0
    start += size if start < 0 else 0
    if start < 0:
        return slice(0, 0)
    if len(numbers) < 2:
        return slice(start, None)
    return slice(start, max(0, size + numbers[1]) if numbers[1] < 0 else start + numbers[1])
