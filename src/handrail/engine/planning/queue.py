"""The calls that plan mode has queued. Only the user approves or rejects them; an approved call
goes through the whole pipeline and is checked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from handrail.core.call import is_agent_call
from handrail.core.lazy import Lazy
from handrail.core.plan import Plan
from handrail.core.ports.machine import Clock
from handrail.core.results import Output, Status, ToolResult
from handrail.engine.call_state import CallState, Outcome
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.recording.payloads import one_line
from handrail.planmode import messages

if TYPE_CHECKING:
    from handrail.engine.user_actions import QueuedCallRunner
    from handrail.planmode.item import PlanItem, PlanStatus

MAX_PENDING_CALLS: Final = 200
_STATE_PREFIX: Final = "plan:"
_EXECUTED: Final = frozenset({Status.OK, Status.FAILED, Status.UNKNOWN})


class QueuePersistence:
    """Stores the queue of a named session, item by item."""

    def __init__(
        self,
        save: Callable[[str, Any], None],
        load: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> None:
        self._save = save
        self._load = load

    def save(self, item: PlanItem) -> None:
        self._save(f"{_STATE_PREFIX}{item.id}", item.to_record())

    def drop(self, item: PlanItem) -> None:
        self._save(f"{_STATE_PREFIX}{item.id}", None)

    async def load(self) -> list[PlanItem]:
        kept = await self._load()
        records = [kept[key] for key in kept if key.startswith(_STATE_PREFIX)]
        if not any(records):
            return []
        from handrail.planmode.item import PlanItem

        found = [PlanItem.from_record(one) for one in records if one is not None]
        return sorted(found, key=lambda item: (item.order, item.proposed_at, item.id))


class PlanQueue:
    """The calls that wait for the user. The queue is not stored if `keeping` is None."""

    runner: Lazy[QueuedCallRunner]

    def __init__(self, clock: Clock, keeping: QueuePersistence | None = None) -> None:
        self._clock = clock
        self._keeping = keeping
        self._items: list[PlanItem] = []
        self._one_at_a_time = asyncio.Lock()

    def items(self) -> tuple[PlanItem, ...]:
        """The calls of the plan, in the order in which they were proposed."""
        return tuple(self._items)

    @property
    def pending(self) -> tuple[PlanItem, ...]:
        """The calls that wait for a decision."""
        return tuple(item for item in self._items if item.pending)

    @property
    def status(self) -> PlanStatus:
        """The state of the whole plan; pending if there is none."""
        from handrail.planmode.item import PlanStatus

        found = {item.status for item in self._items} or {PlanStatus.PENDING}
        if PlanStatus.APPROVED in found and len(found) > 1:
            return PlanStatus.PARTIALLY_APPROVED
        return PlanStatus.PENDING if PlanStatus.PENDING in found else found.pop()

    async def refresh(self) -> None:
        """Load what other processes did to the queue of a named session."""
        if self._keeping is not None:
            self._items = await self._keeping.load()

    async def approve(
        self, ids: str | Iterable[str] | None = None, *, first: int | None = None
    ) -> list[ToolResult]:
        """Carry out queued calls in their order: those with these ids, the first `first`, or all
        pending ones.

        The user is not asked again about what was shown. Rules, guards and hooks check each call
        again; a call whose plan is no longer what was shown needs a new approval, or is refused and
        shown again. Raises `not_found` for an id that is not pending.
        """
        async with self._one_at_a_time:
            await self.refresh()
            chosen = self._chosen(ids, first)
            with self.runner.value.same_turn():
                return [await self._carry_out(item) for item in chosen]

    async def reject(self, ids: str | Iterable[str] | None = None) -> list[PlanItem]:
        """Reject these calls, or all pending or failed ones; raises `not_found` like `approve`."""
        from handrail.planmode.item import PlanStatus

        async with self._one_at_a_time:
            await self.refresh()
            droppable = tuple(item for item in self._items if item.rejectable)
            chosen = self._chosen(ids, None, among=droppable)
            gone = [replace(item, status=PlanStatus.REJECTED) for item in chosen]
            for item in gone:
                self._replace_item(item)
            return gone

    def add(self, state: CallState, plan: Plan | None) -> Outcome:
        """Queue a call that plan mode does not carry out; `denied` if too many are pending."""
        prepared = state.prepared
        if len(self.pending) >= MAX_PENDING_CALLS:
            raise messages.QUEUE_FULL.error(limit=MAX_PENDING_CALLS)
        if self._items and not self.pending:
            self._drop_plan()
        item = self._item(prepared, plan)
        self._items.append(item)
        if self._keeping is not None:
            self._keeping.save(item)
        text = (
            f"[PLAN MODE] Queued as {item.id}, not executed: {one_line(prepared)}\n"
            "Nothing has changed. The call is carried out if the user approves it; do not repeat it."
        )
        queued = {"queued": item.id}
        return Outcome(Status.PLANNED, Output(text, item.preview or None, queued, meta=queued))

    def depends_on_queued(self, prepared: PreparedCall) -> bool:
        """Return whether a call concerns a file that a queued call would write."""
        written = {path for item in self.pending for path in item.binding.paths}
        return any(place.path in written for place in prepared.places.values())

    def _item(self, prepared: PreparedCall, plan: Plan | None) -> PlanItem:
        from handrail.engine.planning.dry_run import approval_snapshot, describe_call
        from handrail.planmode.item import ApprovalBinding, PlanItem

        order = max((item.order for item in self._items), default=0) + 1
        seen = approval_snapshot(prepared, plan)
        paths = [one.path for one in seen.shapes] or [one.path for one in prepared.places.values()]
        said = prepared.arguments.get("description")
        return PlanItem(
            # The id contains a part of the plan's hash, so that an approval by id is about what was
            # shown.
            id=f"{order}-{seen.fingerprint[:4]}",
            tool=prepared.name,
            args=prepared.arguments,
            reason=said if isinstance(said, str) else describe_call(prepared, plan),
            order=order,
            proposed_at=self._now(),
            tool_call_id=prepared.call.id,
            preview=seen.preview,
            binding=ApprovalBinding(seen.fingerprint, seen.shapes, tuple(paths)),
            agent=prepared.call.agent,
        )

    async def _carry_out(self, item: PlanItem) -> ToolResult:
        promise = item.approval(self._written_hashes())
        result = await self.runner.value.run(_call_id(item), item, promise)
        item = item.after_attempt(result, ran=result.status in _EXECUTED)
        if promise.changed_to is not None and item.pending:
            item = item.with_snapshot(promise.changed_to)
        self._replace_item(item)
        return result

    def _written_hashes(self) -> dict[str, str | None]:
        """Return the hashes of the files that approved calls wrote, later calls last."""
        return {path: digest for item in self._items for path, digest in item.binding.results}

    def _chosen(
        self,
        ids: str | Iterable[str] | None,
        first: int | None,
        among: Sequence[PlanItem] | None = None,
    ) -> Sequence[PlanItem]:
        waiting = self.pending if among is None else among
        if ids is None:
            if first is not None and first < 0:
                raise messages.INVALID_FIRST.error(first=first)
            return waiting if first is None else waiting[:first]
        if first is not None:
            raise messages.IDS_AND_FIRST.error()
        wanted = [ids] if isinstance(ids, str) else list(ids)
        found = {_find_item(waiting, name).id for name in wanted}
        return [item for item in waiting if item.id in found]

    def _replace_item(self, item: PlanItem) -> None:
        self._items = [item if one.id == item.id else one for one in self._items]
        if self._keeping is not None:
            self._keeping.save(item)

    def _drop_plan(self) -> None:
        """Drop a plan whose calls are all settled."""
        for item in self._items:
            if self._keeping is not None:
                self._keeping.drop(item)
        self._items = []

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock.now_ns() / 1e9, UTC).isoformat()


def _call_id(item: PlanItem) -> str:
    """Return the call id of an attempt, equal in all processes, so that the call runs once. The id
    of an agent's call belongs to the turn that has queued it: a rewind of the turn reverts it.
    Others are derived by a hash, because ids that contain one of Handrail's own ids are not
    accepted from callers.
    """
    if is_agent_call(item.tool_call_id):
        return f"{item.tool_call_id}-plan-{item.binding.attempt}"
    asked = sha256(item.tool_call_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"plan.{item.id}.{asked}.{item.binding.attempt}"


def _find_item(waiting: Sequence[PlanItem], name: str) -> PlanItem:
    """Return the item with this id, or with this number if only one has it."""
    found = [item for item in waiting if name in (item.id, str(item.order))]
    if len(found) != 1:
        ids = ", ".join(item.id for item in waiting) or "nothing waits"
        raise messages.NO_QUEUED_CALL.error(name=name, ids=ids)
    return found[0]
