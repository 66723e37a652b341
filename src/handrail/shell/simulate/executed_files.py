"""The files that programs run or load, whether a command names them or not."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from handrail.shell.tables import code_files

_MOST_WORDS: Final = 200
# What separates the parts of a value that may name several files.
_SEPARATORS: Final = re.compile(r"[\s:,=]+")
_LONGEST: Final = 20_000
_MOST_COMMANDS: Final = 8


def read_files(fields: Sequence[str]) -> Sequence[str]:
    """The files in which a program may find what to run, whether it is told them or not."""
    return (*fields[1:], *code_files.DEFAULT_FILES.get(posixpath.basename(fields[0]), ()))


def executed_files(fields: Sequence[str], folder: str = "") -> Iterator[str]:
    """The files whose contents a program runs as code.

    `folder` is where the program looks for them if no option says so.
    """
    name, arguments = posixpath.basename(fields[0]), fields[1:_MOST_WORDS]
    moved = [after for one, after in pairwise([*arguments, ""]) if one in ("-C", "-S", "--prefix")]
    for one in code_files.DEFAULT_FILES.get(name, ()):
        yield from (posixpath.join(place, one) for place in (folder, *moved[:1]))
    options = code_files.CODE_OPTIONS.get(name)
    for one, after in pairwise([*arguments, ""]) if options is not None else ():
        option, sign, value = (
            re.split(r"([=:])", one, maxsplit=1) if _joined(one) else (one, "", "")
        )
        if options is not None and options.fullmatch(option):
            yield from _SEPARATORS.split(value) if sign else (after, *_SEPARATORS.split(after))
    operands = [one for one in arguments if not one.startswith("-")]
    verbs = code_files.RUNS_AFTER_VERB.get(name)
    if verbs is not None and operands and verbs.fullmatch(operands[0]):
        yield from operands[1:2]
    elif name in code_files.RUNS_OPERAND:
        # Which words are values of options is not known.
        yield from operands[:4]


def _joined(word: str) -> bool:
    return "=" in word or (word.startswith("-java") and ":" in word)


def loaded_files(variables: Mapping[str, str]) -> Iterator[str]:
    """The files that variables make a program load."""
    for name, value in variables.items():
        if code_files.LOADED_VARIABLES.fullmatch(name):
            yield from _SEPARATORS.split(value[:_LONGEST])


def is_startup_code(path: str) -> bool:
    """Whether a program runs the file when it starts, in a language that is not the shell's."""
    return code_files.STARTUP_CODE.fullmatch(path) is not None


def startup_texts(content: str) -> Iterator[str]:
    """The shell texts in such a file."""
    found = code_files.STARTUP_COMMAND.findall(content[:_LONGEST])
    yield from (one.rstrip("\"'") for one in found[:_MOST_COMMANDS])
