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
        """Until every earlier call has been heard of."""
        await self.line.reach(self.number)

    def tell(self, hear: Hear | None) -> str | None:
        """The call has ended: `hear` is called when its turn has come (None: it has nothing
        to say); what it returns is returned if that is now.
        """
        return self.line.tell(self.number, hear)


class Line:
    """Hears of calls in their order, and keeps what comes too early."""

    def __init__(self) -> None:
        self._next = 0
        self._early: dict[int, Hear | None] = {}
        self._waiting: dict[int, asyncio.Event] = {}

    async def reach(self, number: int) -> None:
        """Until it is this call's turn."""
        if number > self._next:
            await self._waiting.setdefault(number, asyncio.Event()).wait()

    def tell(self, number: int, hear: Hear | None) -> str | None:
        """A call has ended; only what is told first counts."""
        if number < self._next or number in self._early:
            return None
        self._early[number] = hear
        own: str | None = None
        while self._next in self._early:
            now, hear = self._next, self._early.pop(self._next)
            words = hear() if hear is not None else None
            own = words if now == number else own
            self._next += 1
        for waits in [one for one in self._waiting if one <= self._next]:
            self._waiting.pop(waits).set()
        return own


def line_up(keys: Iterable[Hashable]) -> list[Rank]:
    """The ranks of a batch's calls; equal keys are equal calls."""
    line, made = Line(), Counter[Hashable]()
    ranks = []
    for number, key in enumerate(keys):
        ranks.append(Rank(line, number, made[key]))
        made[key] += 1
    return ranks
