"""Patterns of commands as words: `git status:*`, `npm test`, `git push * main`.

`:*` at the end matches any further words; `*` inside a word matches any characters. Patterns are
compared with the words of each program that a command starts, never with its text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

from handrail.core.problems import ProblemRaised

Words = Sequence[str | None]
_OPERATORS: Final = frozenset("();<>|&")
_SHORT: Final = re.compile(r"-[A-Za-z0-9]{1,3}")


class CommandPattern(NamedTuple):
    """A pattern's words; `prefix`: any words may follow them."""

    words: tuple[str, ...]
    prefix: bool

    @property
    def program(self) -> str:
        """The name of the program, in lower case."""
        return self.words[0].rpartition("/")[2].lower()


class MatchCertainty(IntEnum):
    """How certainly a pattern matches the words of a program."""

    NO = 0
    MAYBE = 1
    SURE = 2


def parse_command_pattern(text: str) -> CommandPattern:
    """Parse a pattern; raises `invalid_arguments` with the reason."""
    prefix = text.endswith(":*")
    words = _split_words(text.removesuffix(":*") if prefix else text)
    if not prefix and len(words) > 1 and words[-1] == "*":
        words, prefix = words[:-1], True
    if not words:
        raise ProblemRaised("invalid_arguments", "it names no program")
    return CommandPattern(tuple(words), prefix)


def _split_words(text: str) -> list[str]:
    for sign in ("$", "`"):
        if sign in text:
            raise ProblemRaised(
                "invalid_arguments",
                f"it holds {sign!r}; a rule names words, not how to compute them",
            )
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise ProblemRaised("invalid_arguments", f"its quotes do not end ({error})") from error
    joint = next((word for word in words if word and _OPERATORS.issuperset(word)), None)
    if joint is not None:
        raise ProblemRaised(
            "invalid_arguments",
            f"it holds {joint!r}: each rule matches one program, and every program of a "
            "command is checked separately",
        )
    return words


# --- narrow matching for allow rules --------------------------------------------------


def covers_words(pattern: CommandPattern, words: Words) -> bool:
    """Whether the words equal those of the pattern, in its order, with no computed word among them."""
    wanted = pattern.words
    if len(words) < len(wanted) or (len(words) > len(wanted) and not pattern.prefix):
        return False
    return all(
        word is not None and _matches_word(wish, word)
        for wish, word in zip(wanted, words, strict=False)
    )


def _matches_word(wish: str, word: str) -> bool:
    if "*" not in wish:
        return wish == word
    # A wildcard matches an option only if it starts with a dash: `*.py` is not `--output=x.py`.
    if word.startswith("-") and not wish.startswith("-"):
        return False
    return _compile_word(wish).fullmatch(word) is not None


# --- broad matching for deny and ask rules --------------------------------------------


def match_words(pattern: CommandPattern, words: Words) -> MatchCertainty:
    """How certainly the pattern matches the words. Options may be in any position and order, further
    options and their values are ignored, and a computed word may be anything.
    """
    if not words:
        return MatchCertainty.NO
    if words[0] is None:
        return MatchCertainty.MAYBE
    if not _matches_program(pattern.words[0], words[0]):
        return MatchCertainty.NO
    given = _ProgramWords(words[1:])
    wanted = [word for word in pattern.words[1:] if not _is_option(word)]
    options = [word for word in pattern.words[1:] if _is_option(word)]
    fits = [_match_operands(wanted, given, prefix=pattern.prefix), *map(given.has, options)]
    return min(fits)


def _matches_program(wish: str, word: str) -> bool:
    """Whether the name of the program matches, without regard to its directory and letter case."""
    wish, word = wish.lower(), word.lower()
    name = word.rpartition("/")[2]
    if "*" in wish:
        return any(_compile_word(wish).fullmatch(one) for one in (word, name))
    return wish.rpartition("/")[2] == name


class _ProgramWords:
    """A program's words, sorted into options and the rest."""

    def __init__(self, words: Words) -> None:
        # Each word with whether it may be the value of the option before it.
        self.operands: list[tuple[str | None, bool]] = []
        self._options: list[str] = []
        self._computed = None in words
        after_option = ended = False
        for word in words:
            if word is not None and not ended and _is_option(word):
                self._options.append(word)
                ended = word == "--"
                after_option = not ended and "=" not in word
            else:
                self.operands.append((word, after_option))
                after_option = False

    def has(self, option: str) -> MatchCertainty:
        """Whether the option is given: alone, bundled with others, abbreviated or with a value."""
        if self._stated(option):
            return MatchCertainty.SURE
        return MatchCertainty.MAYBE if self._computed else MatchCertainty.NO

    def _stated(self, option: str) -> bool:
        if "*" in option:
            return any(_compile_word(option).fullmatch(one) for one in self._options)
        if option in self._options:
            return True
        if option.startswith("--"):
            names = (one.partition("=")[0] for one in self._options)
            return any(len(name) > 3 and option.startswith(name) for name in names)
        if not _SHORT.fullmatch(option):
            return False
        letters = {
            letter for one in self._options if not one.startswith("--") for letter in one[1:]
        }
        return letters.issuperset(option[1:])


def _match_operands(wanted: Sequence[str], given: _ProgramWords, *, prefix: bool) -> MatchCertainty:
    """Whether the words that are not options match `wanted`, in which the word `*` stands for any number
    of words. Tracks all positions in `wanted` that can be reached.
    """
    states = {_skip_stars(wanted, 0): MatchCertainty.SURE}
    for word, may_be_value in given.operands:
        after: dict[int, MatchCertainty] = {}
        for at, fit in states.items():
            if may_be_value:
                _keep_best(after, at, fit)
            for position, found in _transitions(wanted, at, word, prefix=prefix):
                _keep_best(after, _skip_stars(wanted, position), min(fit, found))
        states = after
    return states.get(len(wanted), MatchCertainty.NO)


def _transitions(
    wanted: Sequence[str], at: int, word: str | None, *, prefix: bool
) -> list[tuple[int, MatchCertainty]]:
    """The positions that can be reached from `at` with one more word."""
    found: list[tuple[int, MatchCertainty]] = []
    if (at > 0 and wanted[at - 1] == "*") or (at == len(wanted) and prefix):
        found.append((at, MatchCertainty.SURE))
    if word is None:
        found.append((at, MatchCertainty.MAYBE))
    if at < len(wanted):
        if word is None:
            found.append((at + 1, MatchCertainty.MAYBE))
        elif _compile_word(wanted[at]).fullmatch(word):
            found.append((at + 1, MatchCertainty.SURE))
    return found


def _skip_stars(wanted: Sequence[str], at: int) -> int:
    while at < len(wanted) and wanted[at] == "*":
        at += 1
    return at


def _keep_best(states: dict[int, MatchCertainty], at: int, fit: MatchCertainty) -> None:
    states[at] = max(fit, states.get(at, MatchCertainty.NO))


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


@lru_cache(maxsize=4096)
def _compile_word(wish: str) -> re.Pattern[str]:
    """Compile a word with wildcards. The groups are atomic, which avoids backtracking: between two stars
    the first match is as good as any other.
    """
    first, *rest = map(re.escape, wish.split("*"))
    if not rest:
        return re.compile(first, re.DOTALL)
    middle = "".join(f"(?>.*?{chunk})" for chunk in rest[:-1] if chunk)
    return re.compile(f"{first}{middle}.*{rest[-1]}", re.DOTALL)
