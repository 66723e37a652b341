"""Queues in which a footprint waits for earlier conflicting ones, and leases of paths.

The scheduler uses one queue per batch to keep the order of calls; the runtime uses one for the
locks of running calls. An entry holds everything that it needs or nothing, so two calls can never
wait for each other.

`PathLeases` are paths that agents reserve for longer than one call.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, ContextVar, Token
from typing import Any, Final

from handrail.core.footprint import Access, Footprint
from handrail.core.plan import Plan
from handrail.core.ports.leases import Lease, Leases
from handrail.core.ports.machine import Clock, Files, LockHandle, ProcessLocks
from handrail.core.problems import ProblemRaised
from handrail.core.text.globs import literal_prefix, split_glob
from handrail.core.text.safe_text import safe_text
from handrail.engine import messages
from handrail.engine.batch.footprint_index import Marks, find_marks
from handrail.engine.call_state import CallState
from handrail.engine.prepare.prepared_call import CallScope
from handrail.policy.policy_input import PolicyInput


class QueueEntry:
    """A footprint in the queue."""

    __slots__ = ("dependents", "footprint", "left", "marks", "number", "on_ready", "pending")

    def __init__(
        self, footprint: Footprint, number: int, on_ready: Callable[[QueueEntry], None] | None
    ) -> None:
        self.footprint = footprint
        # The number of the entry in its queue, from 0.
        self.number = number
        # Called once no earlier entry conflicts any more, unless that is so from the beginning.
        self.on_ready = on_ready
        # The lanes that hold the entry.
        self.marks: Sequence[str] = ()
        # The number of lanes or entries that this entry waits for.
        self.pending = 0
        # The entries of nested calls that wait for this one.
        self.dependents: list[QueueEntry] | None = None
        self.left = False

    @property
    def ready(self) -> bool:
        """Whether no earlier entry conflicts any more."""
        return not self.pending

    async def wait(self) -> None:
        """Return once the entry is ready; at once and without a checkpoint if it is already."""
        if self.pending:
            future = asyncio.get_running_loop().create_future()

            def resolve(_: QueueEntry) -> None:
                if not future.done():
                    future.set_result(None)

            self.on_ready = resolve
            await future

    def unblock(self) -> None:
        """Count one of the lanes or entries that this entry waited for as free."""
        self.pending -= 1
        if not self.pending and not self.left and self.on_ready is not None:
            self.on_ready(self)


class _Lane:
    """The entries with one mark, and the entries that wait until all earlier ones of them have
    left, both in order of arrival. Entries that have left are dropped once they come first.
    """

    __slots__ = ("holders", "waiting")

    def __init__(self) -> None:
        self.holders: deque[QueueEntry] = deque()
        self.waiting: deque[QueueEntry] | None = None

    def wait(self, entry: QueueEntry) -> None:
        """Make an entry wait until all present holders have left."""
        if self.waiting is None:
            self.waiting = deque()
        self.waiting.append(entry)
        entry.pending += 1

    def advance(self) -> bool:
        """Drop holders that have left and release entries; return whether the lane is empty."""
        holders, waiting = self.holders, self.waiting
        while holders and holders[0].left:
            holders.popleft()
        while waiting and (not holders or waiting[0].number <= holders[0].number):
            waiting.popleft().unblock()
        return not holders and not waiting


class FootprintQueue:
    """Lets footprints through in order of arrival, conflicting ones one after the other.

    Every mark of a footprint is a lane. An entry waits at the lanes whose marks it conflicts
    with, so the work per entry does not depend on how many there are.
    """

    def __init__(self) -> None:
        self._entries: dict[int, QueueEntry] = {}
        self._lanes: dict[str, _Lane] = {}
        self._next = 0
        # A single entry needs no lanes until a second one arrives.
        self._alone: QueueEntry | None = None

    def enter(
        self,
        footprint: Footprint,
        enclosing: Sequence[QueueEntry] = (),
        on_ready: Callable[[QueueEntry], None] | None = None,
    ) -> QueueEntry:
        """Add an entry to the queue; the caller must pass it to `leave` in any case. The
        `enclosing` calls, inside which this call is made, are not waited for.
        """
        entry = QueueEntry(footprint, self._next, on_ready)
        self._next += 1
        if not self._entries:
            self._alone = entry
        else:
            if self._alone is not None:
                self._hold(self._alone, find_marks(self._alone.footprint))
                self._alone = None
            marks = find_marks(footprint)
            if enclosing:
                self._wait_for_entries(entry, enclosing)
            else:
                self._wait_in_lanes(entry, marks)
            self._hold(entry, marks)
        self._entries[entry.number] = entry
        return entry

    def leave(self, entry: QueueEntry) -> None:
        """Remove an entry that is done or abandoned, and let those behind it continue."""
        entry.left = True
        del self._entries[entry.number]
        if entry is self._alone:
            self._alone = None
            return
        for mark in entry.marks:
            if self._lanes[mark].advance():
                del self._lanes[mark]
        for dependent in entry.dependents or ():
            dependent.unblock()

    def _hold(self, entry: QueueEntry, marks: Marks) -> None:
        entry.marks = marks.own
        for mark in marks.own:
            lane = self._lanes.get(mark)
            if lane is None:
                lane = self._lanes[mark] = _Lane()
            lane.holders.append(entry)

    def _wait_in_lanes(self, entry: QueueEntry, marks: Marks) -> None:
        for mark in marks.conflicting:
            lane = self._lanes.get(mark)
            if lane is not None and lane.holders:
                lane.wait(entry)

    def _wait_for_entries(self, entry: QueueEntry, enclosing: Sequence[QueueEntry]) -> None:
        for one in self._entries.values():
            if one not in enclosing and one.footprint.conflicts_with(entry.footprint):
                entry.pending += 1
                one.dependents = [*(one.dependents or ()), entry]


# The entries of the calls inside which this code runs: a tool that calls a tool waits for others,
# never for itself.
_enclosing: ContextVar[tuple[QueueEntry, ...]] = ContextVar("handrail_lock_entries", default=())


class Locks:
    """The locks of running calls: in this process, and for writes also between processes."""

    def __init__(self, between_processes: ProcessLocks | None) -> None:
        self._queue = FootprintQueue()
        self._between = between_processes

    def hold(self, scope: CallScope, plan: Plan | None = None) -> LockScope:
        """Return locks on everything that the footprint of a call names, for an `async with` block;
        between processes also on the files of a plan that the footprint could not name.
        """
        # Most calls only read, and need no locks between processes.
        writes = plan is not None or not scope.reads_only
        between = self._between if writes else None
        return LockScope(self._queue, between, scope.footprint, plan)

    def detach_call(self) -> Context:
        """Release the locks of the call that runs in this context: from now on it waits for an
        agent, whose calls run in the returned context.
        """
        enclosing = _enclosing.get()
        if enclosing and not enclosing[-1].left:
            self._queue.leave(enclosing[-1])
        context = Context()
        context.run(_enclosing.set, enclosing[:-1])
        return context


class LockScope:
    """The locks of one call; a class, because a generator would double the cost of a read."""

    __slots__ = ("_between", "_entry", "_footprint", "_held", "_plan", "_queue", "_token")

    def __init__(
        self,
        queue: FootprintQueue,
        between: ProcessLocks | None,
        footprint: Footprint,
        plan: Plan | None,
    ) -> None:
        self._plan = plan
        self._queue = queue
        self._between = between
        self._footprint = footprint
        self._entry: QueueEntry | None = None
        self._held: LockHandle | None = None
        self._token: Token[tuple[QueueEntry, ...]] | None = None

    async def __aenter__(self) -> None:
        enclosing = _enclosing.get()
        self._entry = self._queue.enter(self._footprint, enclosing)
        try:
            if self._entry.pending:
                await self._entry.wait()
            if self._between is not None and (keys := self._keys(enclosing)):
                self._held = await self._between.acquire(keys)
        except BaseException:
            self._queue.leave(self._entry)
            raise
        self._token = _enclosing.set((*enclosing, self._entry))

    def _keys(self, enclosing: Sequence[QueueEntry]) -> list[str]:
        had = {key for entry in enclosing for key in written_files(entry.footprint)}
        return [key for key in written_files(self._footprint, self._plan) if key not in had]

    async def __aexit__(self, *_: object) -> None:
        if self._token is not None:
            _enclosing.reset(self._token)
        if self._held is not None:
            self._held.release()
        if self._entry is not None and not self._entry.left:
            self._queue.leave(self._entry)


def written_files(footprint: Footprint, plan: Plan | None = None) -> Sequence[str]:
    """Return the keys that other processes must not write at the same time, in a fixed order."""
    keys = {
        touch.key
        for touch in footprint.touches
        # An agent belongs to one process.
        if touch.access is Access.WRITE and not touch.key.startswith("agent:")
    }
    if plan is not None:
        keys.update([f"file:{change.place.absolute}" for change in plan.changes])
    return sorted(keys)


_SECOND_NS: Final = 1_000_000_000
_LONGEST: Final = 200


class PathLeases:
    """The reserved paths of one store, as the agents of one session see them.

    A lease of this session ends with `process` or, if that is empty, with its time.
    `may_still_run` says whether the process of another lease still runs.
    """

    def __init__(
        self,
        leases: Leases,
        files: Files,
        session: str,
        clock: Clock,
        *,
        process: str,
        may_still_run: Callable[[str], bool],
    ) -> None:
        self._process = process
        self._may_still_run = may_still_run
        self._leases = leases
        self._files = files
        self._session = session
        self._clock = clock
        self._given: dict[str, str] = {}

    async def lock(self, agent: str, globs: Sequence[str], ttl_s: float) -> dict[str, Any]:
        """Reserve paths for an agent; return what it got, and what others hold for how long."""
        owner = self._owner(agent)
        absolute = {self._absolute(glob): glob for glob in globs}
        await self.others(agent)
        ttl_ns = round(ttl_s * _SECOND_NS)
        reserved = await self._leases.reserve(owner, list(absolute), ttl_ns, self._process)
        self._given.update({one.token: owner for one in reserved.acquired})
        return {
            "acquired": [
                {"glob": absolute[one.glob], "token": one.token, "fence": one.fence}
                for one in reserved.acquired
            ],
            "denied": [
                {"glob": absolute[glob], "held_by": one.owner, "for_s": self._remaining_s(one)}
                for glob, one in reserved.denied
            ],
        }

    async def unlock(self, agent: str, tokens: Sequence[str]) -> Sequence[str]:
        """Release an agent's own locks; return the tokens that existed."""
        released = await self._leases.release(self._owner(agent), tokens)
        for token in released:
            self._given.pop(token, None)
        return released

    async def release_agent(self, agent: str) -> None:
        """Release all locks of an agent that has ended."""
        owner = self._owner(agent)
        await self.unlock(agent, [token for token, one in self._given.items() if one == owner])

    async def check(self, state: CallState, judged: Callable[[], PolicyInput]) -> None:
        """Raise `conflict` if another agent has reserved a path that the call is known to write.
        For a command, all leases of others are kept in the state: it must not write these paths.
        """
        prepared = state.prepared
        others = await self.others(prepared.call.agent)
        if not others:
            return
        analysis = prepared.footprint.command
        named = analysis.effects.writes if analysis is not None else ()
        for path in (*judged().written_paths(), *named):
            lease = next((one for one in others if one.covers(path.rstrip("/"))), None)
            if lease is not None:
                raise self._conflict(path, lease)
        if analysis is not None:
            from handrail.core.commands import CommandClass

            if analysis.safety_class is not CommandClass.SAFE:
                state.effects.foreign_leases = tuple(others)

    async def others(self, agent: str) -> Sequence[Lease]:
        """Return the leases of other owners, after releasing those of processes that have ended."""
        owner = self._owner(agent)
        found = [one for one in await self._leases.leases() if one.owner != owner]
        dead = [one for one in found if one.process and not self._may_still_run(one.process)]
        for one in dead:
            await self._leases.release(one.owner, [one.token])
        return [one for one in found if one not in dead]

    @property
    def held(self) -> bool:
        """Whether this session has reserved paths."""
        return bool(self._given)

    async def aclose(self) -> None:
        """Release everything that this session reserved."""
        for owner in set(self._given.values()):
            mine = [token for token, one in self._given.items() if one == owner]
            await self._leases.release(owner, mine)
        self._given.clear()

    def _conflict(self, path: str, lease: Lease) -> ProblemRaised:
        shown = path.removeprefix(f"{self._files.roots[0]}/")
        who = safe_text(lease.owner, one_line=True)
        return messages.PATH_LEASED.error(shown=shown, who=who, seconds=self._remaining_s(lease))

    def _owner(self, agent: str) -> str:
        return f"{self._session}/{agent}"

    def _remaining_s(self, lease: Lease) -> int:
        return max(0, -(-(lease.until_ns - self._clock.now_ns()) // _SECOND_NS))

    def _absolute(self, glob: str) -> str:
        joined = posixpath.normpath(posixpath.join(self._files.roots[0], glob))
        if "\0" in glob or not glob.strip() or ".." in split_glob(glob) or len(glob) > _LONGEST:
            raise messages.INVALID_GLOB.error(glob=glob, field="globs")
        if not any(f"{joined}/".startswith(f"{root}/") for root in self._files.roots):
            raise messages.GLOB_OUTSIDE_WORKSPACE.error(glob=glob, field="globs")
        # By its real path, because writes of others may reach the same place through links.
        fixed = literal_prefix(joined)
        return self._files.locate(fixed).absolute + joined.removeprefix(fixed)
