"""In which order calls run: a call waits for every earlier call whose footprint conflicts
with its own, and for nothing else.

`order` is the pure rule; `Scheduler` carries it out for calls that arrive one by one, so a
batch and a stream are the same thing to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

import anyio
from anyio.abc import TaskGroup

from handrail.core.footprint import Footprint
from handrail.core.results import ToolResult
from handrail.engine.locks import Turnstile
from handrail.engine.prepare import Prepared

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ordering:
    """How calls would run: `waits[i]` are the earlier calls that call i waits for; `groups`
    are the calls that may be in flight together, wave by wave.
    """

    ids: tuple[str, ...]
    waits: tuple[tuple[int, ...], ...]

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Ids by wave: a call stands one wave behind the last call it waits for."""
        wave: list[int] = []
        for earlier in self.waits:
            wave.append(1 + max((wave[index] for index in earlier), default=-1))
        return tuple(
            tuple(name for name, number in zip(self.ids, wave, strict=True) if number == level)
            for level in range(max(wave, default=-1) + 1)
        )

    def __str__(self) -> str:
        lines = []
        for name, earlier in zip(self.ids, self.waits, strict=True):
            after = ", ".join(self.ids[index] for index in earlier)
            lines.append(f"{name} after {after}" if after else f"{name} at once")
        return "\n".join(lines)


def order(ids: Sequence[str], footprints: Sequence[Footprint]) -> Ordering:
    """The ordering of a batch, from nothing but ids and footprints."""
    waits = tuple(
        tuple(index for index in range(later) if footprints[index].conflicts_with(footprint))
        for later, footprint in enumerate(footprints)
    )
    return Ordering(tuple(ids), waits)


class Slot:
    """One of the places that limit how many calls run at once; given back while a person
    is being asked, so that a question delays only the calls that depend on it.
    """

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places

    async def __aenter__(self) -> Self:
        await self._places.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._places.release()

    async def lend(self, waiting: Awaitable[None]) -> None:
        """Give the place away while something is awaited, then take one again."""
        self._places.release()
        try:
            await waiting
        finally:
            # Shielded: the block that holds this slot releases it once more on its way out.
            with anyio.CancelScope(shield=True):
                await self._places.acquire()


current_slot: ContextVar[Slot | None] = ContextVar("handrail_slot", default=None)


async def lend_slot(waiting: Awaitable[None]) -> None:
    """Await something that others must not be kept waiting for: a person, another call."""
    slot = current_slot.get()
    await (slot.lend(waiting) if slot is not None else waiting)


class Scheduler:
    """Runs submitted calls as their order allows; `results` come in the order of submission."""

    def __init__(
        self, run: Callable[[Prepared, bool], Awaitable[ToolResult]], *, most_at_once: int
    ) -> None:
        self._run = run
        self._turnstile = Turnstile()
        self._places = asyncio.Semaphore(most_at_once)
        self._results: list[ToolResult | None] = []
        self._tasks: TaskGroup = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._tasks.__aexit__(kind, error, trace)

    def submit(self, prepared: Prepared) -> None:
        """Queue a call behind those submitted before it."""
        number = len(self._results)
        self._results.append(None)
        ticket = self._turnstile.enter(prepared.footprint)

        async def carry_out() -> None:
            waited = not ticket.ready
            try:
                await ticket.wait()
                slot = Slot(self._places)
                async with slot:
                    current_slot.set(slot)
                    self._results[number] = await self._run(prepared, waited)
            finally:
                self._turnstile.leave(ticket)

        self._tasks.start_soon(carry_out)

    @property
    def results(self) -> list[ToolResult]:
        """What came of the calls, in the order of submission, once the block is left."""
        if None in self._results:
            raise LookupError("not every call has ended")
        return [result for result in self._results if result is not None]


async def into(found: list[T], waiting: Awaitable[T]) -> None:
    """Wait for something and put it into a list, for code that is lent out."""
    found.append(await waiting)
