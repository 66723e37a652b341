"""Who waits for whom: a queue in which a footprint waits for earlier conflicting ones.

The scheduler uses one such queue per batch to keep the order of calls; the runtime uses
one for the locks that a running call holds. A ticket holds everything it needs or nothing,
so two calls can never wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar, Token

from handrail.core.footprint import Access, Footprint
from handrail.core.plan import Plan
from handrail.core.ports import Held, ProcessLocks


class Ticket:
    """A place in the queue."""

    __slots__ = ("_future", "blockers", "footprint")

    def __init__(self, footprint: Footprint, blockers: set[Ticket]) -> None:
        self.footprint = footprint
        self.blockers = blockers
        self._future: asyncio.Future[None] | None = None

    @property
    def ready(self) -> bool:
        """Whether nothing earlier stands in the way any more."""
        return not self.blockers

    async def wait(self) -> None:
        """Return once it is this ticket's turn; at once, without a checkpoint, if it is."""
        if self.blockers:
            self._future = asyncio.get_running_loop().create_future()
            await self._future

    def unblock(self, finished: Ticket) -> None:
        """Another ticket is done."""
        self.blockers.discard(finished)
        if not self.blockers and self._future is not None and not self._future.done():
            self._future.set_result(None)


class Turnstile:
    """Lets footprints through in order of arrival, conflicting ones one after the other."""

    def __init__(self) -> None:
        self._tickets: list[Ticket] = []

    def enter(self, footprint: Footprint, around: Sequence[Ticket] = ()) -> Ticket:
        """Queue up; the ticket must be given back with `leave`, whatever happens. The calls
        `around`, inside which this one is made, are not waited for.
        """
        ticket = Ticket(footprint, self._blockers(footprint, around) if self._tickets else set())
        self._tickets.append(ticket)
        return ticket

    def _blockers(self, footprint: Footprint, around: Sequence[Ticket]) -> set[Ticket]:
        return {
            one
            for one in self._tickets
            if one.footprint.conflicts_with(footprint) and one not in around
        }

    def leave(self, ticket: Ticket) -> None:
        """Done, or given up: let those behind go on."""
        self._tickets.remove(ticket)
        for other in self._tickets:
            if ticket in other.blockers:
                other.unblock(ticket)


# What the calls hold inside which this code runs: a tool that calls a tool waits for others,
# never for itself.
_around: ContextVar[tuple[Ticket, ...]] = ContextVar("handrail_tickets", default=())


class Locks:
    """What running calls hold: in this process, and for writes between processes too."""

    def __init__(self, between_processes: ProcessLocks | None) -> None:
        self._turnstile = Turnstile()
        self._between = between_processes

    def hold(self, footprint: Footprint, plan: Plan | None = None) -> Holding:
        """Everything the footprint names, for the length of an `async with` block; between
        processes also the files of a plan whose footprint could not name them.
        """
        return Holding(self._turnstile, self._between, footprint, plan)


class Holding:
    """The locks of one call; a class, because a generator would double the cost of a read."""

    __slots__ = ("_between", "_footprint", "_held", "_plan", "_ticket", "_token", "_turnstile")

    def __init__(
        self,
        turnstile: Turnstile,
        between: ProcessLocks | None,
        footprint: Footprint,
        plan: Plan | None,
    ) -> None:
        self._plan = plan
        self._turnstile = turnstile
        self._between = between
        self._footprint = footprint
        self._ticket: Ticket | None = None
        self._held: Held | None = None
        self._token: Token[tuple[Ticket, ...]] | None = None

    async def __aenter__(self) -> None:
        around = _around.get()
        self._ticket = self._turnstile.enter(self._footprint, around)
        try:
            if self._ticket.blockers:
                await self._ticket.wait()
            # Most calls only read, and need not even be asked for names.
            writes = self._plan is not None or not self._footprint.reads_only
            if self._between is not None and writes and (keys := self._keys(around)):
                self._held = await self._between.acquire(keys)
        except BaseException:
            self._turnstile.leave(self._ticket)
            raise
        self._token = _around.set((*around, self._ticket))

    def _keys(self, around: Sequence[Ticket]) -> list[str]:
        had = {key for ticket in around for key in written_files(ticket.footprint)}
        return [key for key in written_files(self._footprint, self._plan) if key not in had]

    async def __aexit__(self, *_: object) -> None:
        if self._token is not None:
            _around.reset(self._token)
        if self._held is not None:
            self._held.release()
        if self._ticket is not None:
            self._turnstile.leave(self._ticket)


def written_files(footprint: Footprint, plan: Plan | None = None) -> Sequence[str]:
    """The keys that other processes must not write at the same time, in a fixed order."""
    keys = {touch.key for touch in footprint.touches if touch.access is Access.WRITE}
    if plan is not None:
        keys.update(change.place.key for change in plan.changes)
    return sorted(keys)
