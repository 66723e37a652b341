"""The loop guard on the way of a call. In a batch it speaks as if the calls had been made one
by one: a call about which it might say something waits for the earlier ones; no other does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from handrail.core.problems import ProblemRaised
from handrail.engine.batch.pacing import Pacer
from handrail.engine.batch.scheduler import release_slot_while
from handrail.engine.call_state import CallOutcome, CallState
from handrail.engine.line import ranks_of
from handrail.engine.prepare.preparer import PreparedCall
from handrail.policy.loop_guard import LoopGuard, call_key


@dataclass(frozen=True, slots=True)
class Loops:
    """Lets the guard refuse calls, and hear what came of them."""

    guard: LoopGuard

    async def line_up(self, calls: Sequence[PreparedCall], pacer: Pacer) -> None:
        """These are the calls of one batch."""
        if not self.guard.listens:
            return
        keys: list[Hashable] = []
        for one in calls:
            keys.append(call_key(one.name, one.arguments))
            await pacer.step()
        for one, rank in zip(calls, ranks_of(keys), strict=True):
            one.rank = rank

    def step_out(self, prepared: PreparedCall) -> None:
        """The call waits for no other of its batch any more, nor any for it."""
        if prepared.rank is not None:
            prepared.rank.leave()

    async def wait_to_begin(self, prepared: PreparedCall) -> None:
        """Of a batch: until it is known whether the call is refused, if that is in doubt."""
        rank = prepared.rank
        if rank is None or _polls(prepared):
            return
        if self.guard.may_stop(*_made(prepared), ahead=rank.same):
            await release_slot_while(rank.reached())

    def refuse(self, prepared: PreparedCall) -> None:
        """Raise if the call goes in circles and is not to be made once more."""
        why = self.guard.stopped(*_made(prepared))
        if why is not None and not prepared.call.by_person:
            hint = (
                "look at what it said, and try something else; the refusal ends after a minute, "
                "or when a file is changed (setting loop_guard)"
            )
            raise ProblemRaised("blocked", why, hint=hint)

    async def wait_to_end(self, running: CallState) -> None:
        """Of a batch: until it is known what is to be said of the call, if anything may be.

        The call itself is done, so that whoever ends it now ends only the waiting; one that was
        ended before does not wait at all.
        """
        prepared, watch = running.prepared, running.watch
        rank = prepared.rank
        if rank is None or running.changes or watch.ended or _polls(prepared):
            return
        # What a hook has rewritten may have become equal to any call before it.
        ahead = rank.number if running.rewritten else rank.same
        if not self.guard.may_warn(*_made(prepared), ahead=ahead):
            return
        watch.deadline = None
        try:
            await release_slot_while(rank.reached())
        except asyncio.CancelledError:
            watch.take_back()
            if watch.cancelled_by_caller or not watch.ended:
                raise

    def heed(self, running: CallState, outcome: CallOutcome) -> None:
        """Tell a model that goes in circles."""
        prepared = running.prepared
        if prepared.call.by_person or _polls(prepared):
            return
        changed = bool(running.changes)
        note = partial(self.guard.note, *_made(prepared), outcome.text, changed=changed)
        words = note() if prepared.rank is None else prepared.rank.tell(note)
        if words is not None:
            outcome.text = f"{outcome.text}\n[handrail: {words}]"


def _made(prepared: PreparedCall) -> tuple[str, str, Mapping[str, Any]]:
    return prepared.call.agent, prepared.name, prepared.arguments


def _polls(prepared: PreparedCall) -> bool:
    """Looking at what still runs is no circle."""
    return prepared.entry is not None and prepared.entry.tool.polls
