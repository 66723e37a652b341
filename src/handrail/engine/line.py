"""The calls of one batch in the order in which they were made, for the loop guard: it hears of
them in that order, whichever of them ended first, so that running together cannot be seen.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

Hear = Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Rank:
    """Where a call stands in its batch. `same` counts the equal calls that were made before."""

    line: Line
    number: int
    same: int

    async def reached(self) -> None:
        """Until every earlier call has been heard of, or this one has left the line."""
        await self.line.reach(self.number)

    def tell(self, hear: Hear) -> str | None:
        """The call has ended: `hear` is called when its turn has come, and what it returns is
        returned if that is now.
        """
        return self.line.tell(self.number, hear)

    def leave(self) -> None:
        """It waits for nobody any more, nor anybody for it; safe to call at any time."""
        self.line.leave(self.number)


class Line:
    """Hears of calls in their order, and keeps what comes too early."""

    def __init__(self) -> None:
        self._next = 0
        # What is there of calls before which others are still to be heard; None: they have left.
        self._early: dict[int, Hear | None] = {}
        self._left: set[int] = set()
        self._waiting: dict[int, asyncio.Event] = {}

    async def reach(self, number: int) -> None:
        """Until it is this call's turn."""
        if number > self._next and number not in self._left:
            await self._waiting.setdefault(number, asyncio.Event()).wait()

    def tell(self, number: int, hear: Hear) -> str | None:
        """A call has ended; one that has left the line is heard at once."""
        if number in self._left:
            return hear()
        self._early[number] = hear
        return self._go_on(number)

    def leave(self, number: int) -> None:
        """Go on without this call, unless it has ended already."""
        if number < self._next or number in self._early:
            return
        self._left.add(number)
        self._early[number] = None
        if number in self._waiting:
            self._waiting.pop(number).set()
        self._go_on(number)

    def _go_on(self, number: int) -> str | None:
        """Hear of all whose turn has come; the words about one of them."""
        own: str | None = None
        while self._next in self._early:
            now, hear = self._next, self._early.pop(self._next)
            words = hear() if hear is not None else None
            own = words if now == number else own
            self._next += 1
            if self._next in self._waiting:
                self._waiting.pop(self._next).set()
        return own


def ranks_of(keys: Iterable[Hashable]) -> list[Rank]:
    """The ranks of a batch's calls; equal keys are equal calls."""
    line, made = Line(), Counter[Hashable]()
    ranks = []
    for number, key in enumerate(keys):
        ranks.append(Rank(line, number, made[key]))
        made[key] += 1
    return ranks
