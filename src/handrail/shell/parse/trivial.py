"""A parser for commands like `git status -s | head -5` that need no shell grammar.

It returns exactly the tree of the real parser, or None.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from handrail.shell.parse.syntax import (
    PipelineCommand,
    Script,
    SimpleCommand,
    Statement,
    Text,
    Word,
)

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


def read_trivial(command: str) -> Script | None:
    """The tree of a trivial command, None for any other."""
    if len(command) > MAX_LENGTH or not _LINE.fullmatch(command):
        return None
    stages = []
    for source in command.split("|"):
        words = [Word(text, (Text(text),)) for text in source.split()]
        if words[0].source in _SPECIAL:
            return None
        stages.append(Statement(SimpleCommand(tuple(words)), source.strip(" ")))
    if len(stages) == 1:
        return Script((stages[0],))
    return Script((Statement(PipelineCommand(tuple(stages)), command),))


# What bash does itself, and other shells otherwise or not at all; `true` and `false` are alike.
_OWN: Final = frozenset(
    {".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command",
     "compgen", "complete", "compopt", "continue", "dirs", "disown", "echo", "enable", "eval",
     "exec", "exit", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "logout",
     "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray", "return", "set", "shift",
     "shopt", "source", "suspend", "test", "times", "trap", "type", "ulimit", "umask", "unalias",
     "unset", "wait"}
)  # fmt: skip


def same_in_any_shell(command: str) -> bool:
    """Whether the command is a pipeline of programs with literal words."""
    return len(command) <= MAX_LENGTH and _same_in_any_shell(command)


@lru_cache(maxsize=256)
def _same_in_any_shell(command: str) -> bool:
    if read_trivial(command) is None:
        return False
    return all(stage.split()[0] not in _OWN for stage in command.split("|"))
