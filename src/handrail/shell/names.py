"""Variables that make the shell itself run something, or look elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.syntax import Assignment, Opaque

# The shell expands, looks up or runs what stands in them.
_RUN: Final = frozenset(
    {"PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV", "BASH_ALIASES", "BASH_CMDS",
     "BASH_COMPAT", "SHELLOPTS", "BASHOPTS", "TEXTDOMAIN", "TEXTDOMAINDIR"}
)  # fmt: skip
_NUMBER: Final = re.compile(r"-?[0-9]+")
_RANGE: Final = re.compile(r"\{-?[0-9]+\.\.-?[0-9]+\}|\$\(\(.*\)\)", re.DOTALL)


class Names:
    """Which names are set, and which are evaluated as arithmetic."""

    def __init__(self) -> None:
        self.evaluated: set[str] = set()
        self.search_directories = False
        self._set: dict[str, bool] = {}
        self._run: set[str] = set()

    def assigned(self, assignments: Sequence[Assignment]) -> None:
        """Names that get a value."""
        for one in assignments:
            self._set[one.name] = self._set.get(one.name, True) and _is_number(one)
            if one.name in _RUN:
                self._run.add(one.name)
            if one.name == "CDPATH":
                self.search_directories = True

    def doubts(self) -> Iterator[Reason]:
        """What could run something although no command shows it."""
        for name in sorted(self._run):
            yield Reason("the shell runs or expands what stands in this variable", name)
        for name in sorted(self.evaluated):
            if not self._set.get(name, True):
                yield Reason("its value is worked out as arithmetic, which can run commands", name)


def _is_number(one: Assignment) -> bool:
    if one.value is None or not one.value.parts:
        return not one.inner
    if len(one.value.parts) == 1 and isinstance(one.value.parts[0], Opaque):
        return bool(_RANGE.fullmatch(one.value.source))
    return not one.inner and bool(_NUMBER.fullmatch(one.value.value or "no"))
