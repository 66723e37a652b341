"""Variables that make the shell run something, or search elsewhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.parse.syntax import Assignment, Opaque

# The shell expands, looks up or runs what stands in them.
_RUN: Final = frozenset(
    {"PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV", "BASH_ALIASES", "BASH_CMDS",
     "BASH_COMPAT", "SHELLOPTS", "BASHOPTS", "TEXTDOMAIN", "TEXTDOMAINDIR"}
)  # fmt: skip
# The shell itself puts text into them that others have written: arguments, names, matches.
_TEXTS: Final = frozenset(
    {"_", "PWD", "OLDPWD", "DIRSTACK", "REPLY", "MAPFILE", "COPROC", "OPTARG", "FUNCNAME",
     "BASH_REMATCH", "BASH_COMMAND", "BASH_ARGV", "BASH_ARGV0", "BASH_SOURCE",
     "BASH_EXECUTION_STRING", "READLINE_LINE"}
)  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER: Final = re.compile(r"-?[0-9]+")
_EVALUATED: Final = "its value is evaluated as arithmetic, which can run commands"
_RANGE: Final = re.compile(r"\{-?[0-9]+\.\.-?[0-9]+\}|\$\(\(.*\)\)", re.DOTALL)


class EvaluatedNames:
    """The variables that are assigned, and those that are evaluated as arithmetic."""

    def __init__(self) -> None:
        self.evaluated: set[str] = set()
        self.texts: set[str] = set(_TEXTS)
        self.search_directories = False
        self._set: dict[str, bool] = {}
        self._run: set[str] = set()

    def assigned(self, assignments: Sequence[Assignment]) -> None:
        """Record names that get a value."""
        for one in assignments:
            self._set[one.name] = self._set.get(one.name, True) and _is_number(one)
            if one.name in _RUN:
                self._run.add(one.name)
            if one.name == "CDPATH":
                self.search_directories = True

    def doubts(self) -> Iterator[Reason]:
        """Reasons why a variable could run a command that is not visible."""
        for name in sorted(self._run):
            yield Reason("the shell runs or expands the value of this variable", name)
        for name in sorted(self.evaluated):
            computed = name in self.texts or not _NAME.fullmatch(name)
            if computed or not self._set.get(name, True):
                yield Reason(_EVALUATED, name)


def environment_doubts(evaluated: Collection[str], env: Mapping[str, str]) -> Iterator[Reason]:
    """Reasons why a variable of `env` could run a command when it is evaluated."""
    for name in sorted(env):
        if name in evaluated and not _NUMBER.fullmatch(env[name]):
            yield Reason(_EVALUATED, name)


def _is_number(one: Assignment) -> bool:
    if one.value is None or not one.value.parts:
        return not one.inner
    if len(one.value.parts) == 1 and isinstance(one.value.parts[0], Opaque):
        return bool(_RANGE.fullmatch(one.value.source))
    return not one.inner and bool(_NUMBER.fullmatch(one.value.value or "no"))
