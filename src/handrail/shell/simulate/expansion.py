"""Expands words with the values of a simulated shell, by the one expander of this package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import Final

from handrail.shell.expand import UNKNOWN, UNSET, Expander, plain_text
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
from handrail.shell.simulate.parameters import apply_operator
from handrail.shell.simulate.shell_state import ShellState

_MARKS: Final = {"\ue000": "*", "\ue001": "?", "\ue002": "["}
_MARK: Final = re.compile(f"([{''.join(_MARKS)}{UNKNOWN}{UNSET}])")
_DEFAULTS: Final = frozenset({"-", ":-", "=", ":="})
_LISTS: Final = ("@", "*")


class StateExpansion:
    """Expands words in one state. `run` returns what a substitution prints."""

    def __init__(self, state: ShellState, run: Callable[[Substitution], str | None]) -> None:
        self._state = state
        self._run = run
        self._expander = Expander({}, state.home, resolve=self._resolve)

    def fields(self, words: Iterable[Word]) -> list[str]:
        """The fields that the words become, in the notation of the likely view."""
        return list(next(self._expander.likely(tuple(words), self._state.cwd), ()))

    def text(self, word: Word) -> str:
        """The word as one text, as in an assignment: nothing is split."""
        parts = tuple(
            replace(part, quoted=True) if isinstance(part, Variable | Substitution) else part
            for part in word.parts
        )
        return plain_text(" ".join(self.fields([Word(word.source, parts)])))

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
        operands = [self.text(word) for word in part.operands]
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
