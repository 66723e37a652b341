"""Text that one program passes to another, where the command itself contains it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from handrail.shell.echo import format_printf
from handrail.shell.parse.syntax import (
    Opaque,
    Redirect,
    Script,
    SimpleCommand,
    Statement,
    Substitution,
    Text,
    Word,
)
from handrail.shell.parse.words import approximate_text

_INPUTS: Final = frozenset({"<", "<<", "<<-", "<<<", "<>", "<&"})
_FORMAT: Final = re.compile(r"(?:[^%\\]|%s|%%|\\n)*")

# Marks a text that is only likely: the word has no value then.
UNSURE: Final = (Opaque(""),)
# What is fed, but cannot be known.
UNKNOWN: Final = Word("", UNSURE)


def stdin_text(redirects: Sequence[Redirect], otherwise: Word | None) -> Word | None:
    """The text on standard input: None if there is none, `UNKNOWN` if the command does not contain
    it.
    """
    for redirect in reversed(redirects):
        if redirect.fd in ("", "0") and redirect.operator in _INPUTS:
            if redirect.operator == "<<<":
                return redirect.target
            return UNKNOWN if redirect.body is None else redirect.body
    return otherwise


def partly_read(text: Word | None) -> Word | None:
    """The text on standard input after another program may have read a part of it."""
    if text is None or text is UNKNOWN:
        return text
    return Word(text.source, (*text.parts, *UNSURE))


def printed_word(statement: Statement) -> Word:
    """What a statement prints, if it is an `echo`, a `printf` or a `cat` of known text."""
    command = statement.command
    if not isinstance(command, SimpleCommand) or not command.words or command.declares:
        return UNKNOWN
    program = command.words[0].value
    if program == "cat" and [w.value for w in command.words[1:]] in ([], ["-"]):
        return stdin_text(statement.redirects, None) or UNKNOWN
    if statement.redirects:
        return UNKNOWN
    if program == "echo":
        return _echo(command.words[1:])
    if program == "printf":
        return _printf(command.words[1:])
    return UNKNOWN


def process_substitution_text(word: Word) -> Word:
    """The output of the `<(…)` that a word consists of; `UNKNOWN` if it is not known."""
    part = word.parts[0] if len(word.parts) == 1 else None
    if isinstance(part, Substitution) and part.kind == "<":
        return _script_output(part.script)
    return UNKNOWN


def _script_output(script: Script) -> Word:
    return printed_word(script.statements[0]) if len(script.statements) == 1 else UNKNOWN


def _echo(words: Sequence[Word]) -> Word:
    while words and re.fullmatch(r"-[neE]+", words[0].value or ""):
        words = words[1:]
    texts = [approximate_text(word) for word in words]
    return _echo_word(" ".join(text for text, _ in texts), exact=all(sure for _, sure in texts))


def _echo_word(text: str, *, exact: bool) -> Word:
    # A backslash may be an escape to echo, in some shells without being asked.
    sure = exact and "\\" not in text
    return Word(text, (Text(text, quoted=True),) if sure else (Text(text, quoted=True), *UNSURE))


def _printf(words: Sequence[Word]) -> Word:
    if words and words[0].value == "--":
        words = words[1:]
    texts = [approximate_text(word) for word in words]
    if not texts or texts[0][0].startswith("-"):
        return UNKNOWN
    form, arguments = texts[0][0], [text for text, _ in texts[1:]]
    exact = all(sure for _, sure in texts) and bool(_FORMAT.fullmatch(form))
    made = format_printf(form, arguments)
    return Word(made, (Text(made, quoted=True),) if exact else (Text(made, quoted=True), *UNSURE))
