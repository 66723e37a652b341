"""How an interpreter receives its program: as an argument, as a file, or on standard input."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from handrail.shell.blocklist.program_calls import program_basename
from handrail.shell.parse.syntax import Text, Word
from handrail.shell.tables.catastrophes import LANGUAGES, SHELL_FLAGS, SHELLS

INPUT: Final = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_QUEUES: Final = frozenset(("at", "batch"))
# Interpreters with commands of their own: `deno run x`, `bun eval x`.
_VERBS: Final = frozenset(("deno", "bun"))
_CODE_OPTIONS: Final = frozenset(("--eval", "--print", "--command", "--execute", "--run"))
_OPERAND_IS_CODE: Final = frozenset(("awk", "gawk", "mawk", "nawk"))
# Modules whose arguments are code.
_RUNS_OPERANDS: Final = frozenset(("timeit", "pyperf", "cProfile", "trace"))
_VERSION: Final = re.compile(r"[\d.]+$")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter as a command starts it."""

    # Its name without version and directory.
    language: str
    # Code given as arguments.
    code: tuple[Word, ...]
    # The words that contain or name the program.
    programs: tuple[Word, ...]
    # The program is read from standard input.
    reads_input: bool

    @property
    def shell(self) -> bool:
        """Whether the interpreter is a shell."""
        return self.language in SHELLS


def find_interpreter(words: Sequence[Word]) -> Interpreter | None:
    """The interpreter that the words start; None if they start none."""
    if len(words) > 1 and program_basename(words[0].value or "") in ("busybox", "toybox"):
        words = words[1:]
    language = interpreter_language(words[0].value if words else None)
    if language is None:
        return None
    reading = _InterpreterArguments(language, list(words[1:]))
    while reading.unfinished:
        reading.step()
    return reading.outcome()


def interpreter_language(program: str | None) -> str | None:
    """The language of an interpreter: `python` for `/usr/bin/python3.12`."""
    name = program_basename(program or "")
    if name in SHELLS or name in LANGUAGES:
        return name
    stem = _VERSION.sub("", name).rstrip("-")
    return stem if stem in LANGUAGES or stem in SHELLS else None


class _InterpreterArguments:
    """Reads arguments until the program is found."""

    def __init__(self, language: str, rest: list[Word]) -> None:
        self._language = language
        self._shell = language in SHELLS
        self._letters = SHELL_FLAGS if self._shell else LANGUAGES[language]
        self._rest = rest
        self._code: list[Word] = []
        self._operand: Word | None = None
        self._module = False
        self._input = language in _QUEUES
        self._takes_code = False

    @property
    def unfinished(self) -> bool:
        found = self._code or self._operand is not None or self._module
        return bool(self._rest) and not found

    def step(self) -> None:
        word = self._rest.pop(0)
        text = word.value
        if text == "--" and not self._takes_code:
            self._operand = self._rest.pop(0) if self._rest else None
            self._rest.clear()
        elif text is None or text[:1] not in ("-", "+") or text in INPUT:
            self._operator(word)
        elif text.startswith("--"):
            self._long(text)
        else:
            self._cluster(text)

    def _operator(self, word: Word) -> None:
        if self._takes_code:
            self._code.append(word)
        elif word.value == "eval" and self._language in _VERBS:
            self._takes_code = True
        elif word.value != "run" or self._language not in _VERBS:
            self._operand = word

    def _long(self, text: str) -> None:
        name, equals, value = text.partition("=")
        if name not in _CODE_OPTIONS:
            return
        if equals:
            self._code.append(_text(value))
        elif self._rest:
            self._code.append(self._rest.pop(0))

    def _cluster(self, text: str) -> None:
        carrying, valued = self._letters
        for number, letter in enumerate(text[1:], 1):
            attached = text[number + 1 :]
            if letter in carrying and self._shell:
                # What is attached are further options; the code is the first operand.
                self._takes_code = True
            elif letter == "m" and letter in carrying:
                self._module = True
                name = attached or (self._rest[0].value if self._rest else "")
                if name in _RUNS_OPERANDS:
                    self._code += self._rest[0 if attached else 1 :]
                return
            elif letter in carrying:
                self._code += [_text(attached)] if attached else self._rest[:1]
                return
            elif letter in valued:
                del self._rest[: 0 if attached else 1]
                return
            elif letter == "s" and self._shell:
                self._input = True

    def outcome(self) -> Interpreter:
        if self._language in _OPERAND_IS_CODE and self._operand is not None:
            self._code.append(self._operand)
        named = [self._operand] if self._operand is not None and not self._input else []
        by_input = self._input or self._operand is None or self._operand.value in INPUT
        reads = by_input and not self._code and not self._module
        code = tuple(self._code)
        return Interpreter(self._language, code, (*code, *named), reads_input=reads)


def _text(text: str) -> Word:
    return Word(text, (Text(text, quoted=True),))
