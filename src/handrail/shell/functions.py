"""Functions that a command defines for itself: what a call of their name can mean.

Their bodies are listed once, where they are defined. If a name could also mean a program,
there is a doubt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handrail.core.commands import Reason

_PRINTING: Final = frozenset({"echo", "printf", "cat"})


class Functions:
    """The functions of one command.

    `move`: calling one may change the directory; `elsewhere`: one is called in another.
    """

    def __init__(self) -> None:
        self.move = False
        self.elsewhere = False
        self._certain: set[str] = set()
        self._uncertain: set[str] = set()
        self._outside: set[str] = set()
        self._dropped = False

    @property
    def names(self) -> frozenset[str]:
        """Every name that is defined."""
        return frozenset(self._certain | self._uncertain)

    def define(self, name: str, *, certain: bool) -> None:
        """A function is defined, `certain`ly before anything could call its name."""
        if certain and name not in self._certain:
            self._certain.add(name)
        else:
            self._uncertain.add(name)

    def called(self, name: str, *, outside: bool) -> None:
        """A name is run; from `outside` the shell it means a program, whatever is defined."""
        if outside:
            self._outside.add(name)
        if name == "unset":
            self._dropped = True

    def doubts(self) -> Iterator[Reason]:
        """Why a name may mean a program as well."""
        for name in sorted(self._uncertain):
            yield Reason("a function is defined where it may not hold", name)
        for name in sorted(self.names & self._outside):
            yield Reason("a function's name is run by another program", name)
        for name in sorted(self.names & _PRINTING):
            yield Reason("a function takes the place of what prints known text", name)
        if self._dropped and self.names:
            yield Reason("functions are defined, and something is unset", "unset")
