"""Who waits for whom: a queue in which a footprint waits for earlier conflicting ones.

The scheduler uses one such queue per batch to keep the order of calls; the runtime uses
one for the locks that a running call holds. A ticket holds everything it needs or nothing,
so two calls can never wait for each other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token

from handrail.core.footprint import Access, Footprint
from handrail.core.plan import Plan
from handrail.core.ports import Held, ProcessLocks
from handrail.engine.batch.footprint_index import Marks, find_marks


class QueueEntry:
    """A place in the queue; `number` counts the tickets of a queue from 0. `on_ready` is called
    with the ticket once nothing earlier stands in the way any more, unless that is so from the
    beginning.
    """

    __slots__ = (
        "_future",
        "blockers",
        "dependents",
        "footprint",
        "left",
        "marks",
        "number",
        "on_ready",
        "pending",
    )

    def __init__(
        self, footprint: Footprint, number: int, on_ready: Callable[[QueueEntry], None] | None
    ) -> None:
        self.footprint = footprint
        self.number = number
        self.on_ready = on_ready
        # The lanes in which it is, and how many lanes hold it up.
        self.marks: Sequence[str] = ()
        self.pending = 0
        # Of a call inside others: the tickets that hold it up; and the tickets of such calls
        # that this one holds up.
        self.blockers: set[QueueEntry] | None = None
        self.dependents: list[QueueEntry] | None = None
        self.left = False
        self._future: asyncio.Future[None] | None = None

    @property
    def ready(self) -> bool:
        """Whether nothing earlier stands in the way any more."""
        return not self.pending and not self.blockers

    async def wait(self) -> None:
        """Return once it is this ticket's turn; at once, without a checkpoint, if it is."""
        if not self.ready:
            self._future = asyncio.get_running_loop().create_future()
            await self._future

    def leave_lane(self) -> None:
        """A lane holds it up no longer."""
        self.pending -= 1
        self._go_if_ready()

    def unblock(self, finished: QueueEntry) -> None:
        """A ticket that held it up has left."""
        if self.blockers is not None:
            self.blockers.discard(finished)
        self._go_if_ready()

    def _go_if_ready(self) -> None:
        if not self.ready or self.left:
            return
        if self._future is not None and not self._future.done():
            self._future.set_result(None)
        if self.on_ready is not None:
            self.on_ready(self)


class _Lane:
    """The tickets with one mark, and those that wait until all earlier ones of them have left;
    both in order of arrival. Tickets that have left are dropped once they come first.
    """

    __slots__ = ("holders", "waiting")

    def __init__(self) -> None:
        self.holders: deque[QueueEntry] = deque()
        self.waiting: deque[QueueEntry] | None = None

    def wait(self, ticket: QueueEntry) -> None:
        """Hold a ticket up until all holders of now have left."""
        if self.waiting is None:
            self.waiting = deque()
        self.waiting.append(ticket)
        ticket.pending += 1

    def advance(self) -> bool:
        """Drop what has left, let through whom nothing earlier holds up here; whether nobody is
        left.
        """
        holders, waiting = self.holders, self.waiting
        while holders and holders[0].left:
            holders.popleft()
        while waiting and (not holders or waiting[0].number <= holders[0].number):
            waiting.popleft().leave_lane()
        return not holders and not waiting


class FootprintQueue:
    """Lets footprints through in order of arrival, conflicting ones one after the other.

    Every mark of a footprint is a lane. A ticket waits at the lanes whose marks it conflicts
    with, so the work per ticket does not depend on how many there are.
    """

    def __init__(self) -> None:
        self._tickets: dict[int, QueueEntry] = {}
        self._lanes: dict[str, _Lane] = {}
        self._next = 0
        # A lone ticket needs no lanes until a second one comes.
        self._alone: QueueEntry | None = None

    def enter(
        self,
        footprint: Footprint,
        around: Sequence[QueueEntry] = (),
        on_ready: Callable[[QueueEntry], None] | None = None,
    ) -> QueueEntry:
        """Queue up; the ticket must be given back with `leave`, whatever happens. The calls
        `around`, inside which this one is made, are not waited for.
        """
        ticket = QueueEntry(footprint, self._next, on_ready)
        self._next += 1
        if not self._tickets:
            self._alone = ticket
        else:
            if self._alone is not None:
                self._hold(self._alone, find_marks(self._alone.footprint))
                self._alone = None
            marks = find_marks(footprint)
            if around:
                self._wait_for_tickets(ticket, around)
            else:
                self._wait_in_lanes(ticket, marks)
            self._hold(ticket, marks)
        self._tickets[ticket.number] = ticket
        return ticket

    def leave(self, ticket: QueueEntry) -> None:
        """Done, or given up: let those behind go on."""
        ticket.left = True
        del self._tickets[ticket.number]
        if ticket is self._alone:
            self._alone = None
            return
        for mark in ticket.marks:
            if self._lanes[mark].advance():
                del self._lanes[mark]
        for dependent in ticket.dependents or ():
            dependent.unblock(ticket)

    def _hold(self, ticket: QueueEntry, marks: Marks) -> None:
        ticket.marks = marks.own
        for mark in marks.own:
            lane = self._lanes.get(mark)
            if lane is None:
                lane = self._lanes[mark] = _Lane()
            lane.holders.append(ticket)

    def _wait_in_lanes(self, ticket: QueueEntry, marks: Marks) -> None:
        for mark in marks.conflicting:
            lane = self._lanes.get(mark)
            if lane is not None and lane.holders:
                lane.wait(ticket)

    def _wait_for_tickets(self, ticket: QueueEntry, around: Sequence[QueueEntry]) -> None:
        blockers: set[QueueEntry] = set()
        for one in self._tickets.values():
            if one not in around and one.footprint.conflicts_with(ticket.footprint):
                blockers.add(one)
                one.dependents = [*(one.dependents or ()), ticket]
        ticket.blockers = blockers


# What the calls hold inside which this code runs: a tool that calls a tool waits for others,
# never for itself.
_around: ContextVar[tuple[QueueEntry, ...]] = ContextVar("handrail_tickets", default=())


class Locks:
    """What running calls hold: in this process, and for writes between processes too."""

    def __init__(self, between_processes: ProcessLocks | None) -> None:
        self._turnstile = FootprintQueue()
        self._between = between_processes

    def hold(self, footprint: Footprint, plan: Plan | None = None) -> LockScope:
        """Everything the footprint names, for the length of an `async with` block; between
        processes also the files of a plan whose footprint could not name them.
        """
        return LockScope(self._turnstile, self._between, footprint, plan)


class LockScope:
    """The locks of one call; a class, because a generator would double the cost of a read."""

    __slots__ = ("_between", "_footprint", "_held", "_plan", "_ticket", "_token", "_turnstile")

    def __init__(
        self,
        turnstile: FootprintQueue,
        between: ProcessLocks | None,
        footprint: Footprint,
        plan: Plan | None,
    ) -> None:
        self._plan = plan
        self._turnstile = turnstile
        self._between = between
        self._footprint = footprint
        self._ticket: QueueEntry | None = None
        self._held: Held | None = None
        self._token: Token[tuple[QueueEntry, ...]] | None = None

    async def __aenter__(self) -> None:
        around = _around.get()
        self._ticket = self._turnstile.enter(self._footprint, around)
        try:
            if not self._ticket.ready:
                await self._ticket.wait()
            # Most calls only read, and need not even be asked for names.
            writes = self._plan is not None or not self._footprint.reads_only
            if self._between is not None and writes and (keys := self._keys(around)):
                self._held = await self._between.acquire(keys)
        except BaseException:
            self._turnstile.leave(self._ticket)
            raise
        self._token = _around.set((*around, self._ticket))

    def _keys(self, around: Sequence[QueueEntry]) -> list[str]:
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
