"""A tiny reader for commands like `git status -s | head -5`: no parser needed.

It must give exactly the tree that the parser would; at the slightest doubt it gives None.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.shell.syntax import Pipeline, Script, Simple, Statement, Text, Word

# No letter in it means anything to a shell, wherever it stands after the first word.
_WORD: Final = r"[A-Za-z0-9_./:,+@%^-][A-Za-z0-9_./:=,+@%^-]*"
# No `=`: that could be an assignment.
_PROGRAM: Final = r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*"
_COMMAND: Final = rf"{_PROGRAM}(?: +{_WORD})*"
_LINE: Final = re.compile(rf"{_COMMAND}(?: *\| *{_COMMAND})*")
_SPECIAL: Final = frozenset(
    {"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
     "in", "function", "select", "time", "coproc", "declare", "typeset", "local", "export",
     "readonly", "nameref", "let"}
)  # fmt: skip
MAX_LENGTH: Final = 1000


def read(command: str) -> Script | None:
    """The tree of a trivial command, None for any other."""
    if len(command) > MAX_LENGTH or not _LINE.fullmatch(command):
        return None
    stages = []
    for source in command.split("|"):
        words = [Word(text, (Text(text),)) for text in source.split()]
        if words[0].source in _SPECIAL:
            return None
        stages.append(Statement(Simple(tuple(words)), source.strip(" ")))
    if len(stages) == 1:
        return Script((stages[0],))
    return Script((Statement(Pipeline(tuple(stages)), command),))
