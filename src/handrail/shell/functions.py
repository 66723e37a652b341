"""Functions that a command defines for itself.

A name counts as a function only if nothing else can be meant by it anywhere: then its body,
which is listed, is all that a call runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from handrail.core.commands import Reason


class Functions:
    """The functions of one command; `move`: calling one may change the directory."""

    def __init__(self) -> None:
        self.move = False
        self._certain: set[str] = set()
        self._uncertain: set[str] = set()
        self._wrapped: set[str] = set()
        self._dropped = False

    def define(self, name: str, *, certain: bool) -> None:
        """A function is defined, `certain`ly before anything could call its name."""
        if certain and name not in self._certain:
            self._certain.add(name)
        else:
            self._uncertain.add(name)

    def called(self, name: str, *, wrapped: bool) -> None:
        """A name is run; through a wrapper it means a program, whatever is defined."""
        if wrapped:
            self._wrapped.add(name)
        if name == "unset":
            self._dropped = True

    def names(self) -> frozenset[str]:
        """The names that can only mean a function."""
        return frozenset() if self._dropped else frozenset(self._certain - self._uncertain)

    def doubts(self) -> Iterator[Reason]:
        """Why a name may mean either."""
        for name in sorted(self._uncertain):
            yield Reason("a function is defined where it may not hold", name)
        for name in sorted((self._certain | self._uncertain) & self._wrapped):
            yield Reason("a function's name is run through another program", name)
        if self._dropped and self._certain:
            yield Reason("functions are defined and unset", "unset")
