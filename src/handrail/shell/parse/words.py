"""What the text of a word says before any expansion: its static beginning, whether it splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

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

_MAX_DEPTH: Final = 4


def static_prefix(word: Word) -> str:
    """The text of the word up to its first expansion."""
    letters: list[str] = []
    for part in word.parts:
        if not isinstance(part, Text):
            break
        letters.append(part.text)
    return "".join(letters)


def drop_prefix(word: Word, count: int) -> Word:
    """The word without its first `count` characters."""
    parts: list[Part] = []
    for part in word.parts:
        if count and isinstance(part, Text):
            kept = part.text[count:]
            count = max(0, count - len(part.text))
            if kept:
                parts.append(Text(kept, part.quoted))
        else:
            parts.append(part)
    return Word(word.source, tuple(parts))


def may_split(word: Word) -> bool:
    """Whether the shell may make several words of it, by a glob or by splitting at blanks."""
    return word.globs or not all(isinstance(part, Text) or is_one_word(part) for part in word.parts)


def is_one_word(part: Part) -> bool:
    """Whether the part always becomes one word; `"$@"` and `"${list[@]}"` may become several."""
    if isinstance(part, Variable):
        return part.quoted and part.plain and part.name not in ("@", "*")
    return isinstance(part, Substitution) and part.quoted


def quoted_variable(word: Word) -> str | None:
    """The name of the variable of which the word is the value, as one word."""
    only = word.parts[0] if len(word.parts) == 1 else None
    return only.name if isinstance(only, Variable) and is_one_word(only) else None


def mark_placeholder(word: Word, mark: str) -> Word:
    """The word with every occurrence of the placeholder `mark` replaced by an unknown part."""
    parts: list[Part] = []
    for part in word.parts:
        if not (isinstance(part, Text) and mark in part.text):
            parts.append(part)
            continue
        for index, piece in enumerate(part.text.split(mark)):
            if index:
                parts.append(Opaque(mark, is_placeholder=True))
            if piece:
                parts.append(Text(piece, part.quoted))
    return Word(word.source, tuple(parts))


def approximate_text(word: Word) -> tuple[str, bool]:
    """The text of the word, and whether it is exact.

    A variable is written as `${name}` and any other expansion as `${_}`, so that the text around
    it can still be parsed.
    """
    letters: list[str] = []
    exact = not word.globs and not word.tilde
    for part in word.parts:
        if isinstance(part, Text):
            letters.append(part.text)
            continue
        exact = False
        if isinstance(part, Variable):
            letters.append(f"${{{part.name}}}")
        elif not isinstance(part, Opaque) or part.source:
            letters.append("${_}")
    return "".join(letters), exact


def variable_names(words: Iterable[Word], depth: int = 0, *, nested: bool) -> set[str]:
    """The variables that the words contain; `nested`: inside `${x:-…}` and `$(…)` as well."""
    names: set[str] = set()
    if depth > _MAX_DEPTH:
        return names
    for part in (part for word in words for part in word.parts):
        match part:
            case Variable(name=name, plain=plain, inner=inner) if plain or nested:
                names |= {name} | variable_names(inner, depth + 1, nested=nested)
            case Braces(alternatives):
                names |= variable_names(alternatives, depth + 1, nested=nested)
            case Substitution(script) if nested:
                names |= variable_names(_simple_words(script), depth + 1, nested=nested)
    return names


def _simple_words(script: Script) -> Iterator[Word]:
    for statement in script.statements:
        if isinstance(statement.command, SimpleCommand):
            yield from statement.command.words
