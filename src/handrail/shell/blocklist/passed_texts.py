"""The texts that a command passes to a program: in words, here-documents and pipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from handrail.shell.analyze.invocation import Invocation
from handrail.shell.blocklist.deletes import input_sources
from handrail.shell.blocklist.program_calls import ExpandedCommand, program_basename
from handrail.shell.expand import UNKNOWN, UNSET, plain_text, printed_field
from handrail.shell.languages.decoders import decode_text
from handrail.shell.parse.syntax import Word

_MOST_SOURCES: Final = 8
_DEEPEST: Final = 3


def input_texts(one: Invocation, command: ExpandedCommand) -> Iterator[str]:
    """What the interpreter reads on standard input, where the command contains it."""
    for redirect in one.redirects:
        if redirect.operator.startswith("<<"):
            yield from word_texts(redirect.body or redirect.target, command)
    for producer in input_sources(one, command.flat.invocations)[:_MOST_SOURCES]:
        yield from _printed(producer, command, 0)


def _printed(one: Invocation, command: ExpandedCommand, depth: int) -> Iterator[str]:
    for fields in command.expander.likely(one.words, command.where.cwd):
        name = program_basename(fields[0]) if fields else ""
        if name in ("echo", "printf"):
            yield plain_text(printed_field(fields, command.where.cwd)).replace("\\n", "\n")
        elif one.piped_from and depth < _DEEPEST:
            for feeder in one.piped_from[:_MOST_SOURCES]:
                for text in _printed(feeder, command, depth + 1):
                    yield _changed(name, fields[1:], text)
    for redirect in one.redirects:
        if redirect.operator.startswith("<<"):
            yield from word_texts(redirect.body or redirect.target, command)


def _changed(name: str, fields: Sequence[str], text: str) -> str:
    """The text after a decoder in the pipe; unchanged for any other program."""
    decoded = decode_text(name, fields, text)
    if decoded is not None:
        return decoded
    return text[::-1] if name == "rev" else text


def word_texts(word: Word, command: ExpandedCommand) -> Iterator[str]:
    for fields in command.expander.likely([word], command.where.cwd):
        text = plain_text(" ".join(fields))
        yield text.replace(UNKNOWN, "").replace(UNSET, "")
