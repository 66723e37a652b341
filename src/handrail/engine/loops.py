"""The loop guard on the way of a call. In a batch it speaks as if the calls had been made one
by one: a call about which it might say something waits for the earlier ones; no other does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from handrail.core.problems import ProblemRaised
from handrail.engine.line import line_up
from handrail.engine.prepare import Prepared
from handrail.engine.running import Outcome, Running
from handrail.engine.scheduler import lend_slot
from handrail.policy.loop_guard import LoopGuard, key_of


@dataclass(frozen=True, slots=True)
class Loops:
    """Lets the guard refuse calls, and hear what came of them."""

    guard: LoopGuard

    def line_up(self, calls: Sequence[Prepared]) -> None:
        """These are the calls of one batch."""
        if self.guard.listens:
            ranks = line_up(key_of(one.name, one.arguments) for one in calls)
            for one, rank in zip(calls, ranks, strict=True):
                one.rank = rank

    def step_out(self, prepared: Prepared) -> None:
        """The call is over, however it ended; nobody waits for it any more."""
        if prepared.rank is not None:
            prepared.rank.tell(None)

    async def refuse(self, prepared: Prepared) -> None:
        """Raise if the call goes in circles and is not to be made once more."""
        call, rank = prepared.call, prepared.rank
        made = (call.agent, prepared.name, prepared.arguments)
        if rank is not None and self.guard.may_stop(*made, ahead=rank.same):
            await lend_slot(rank.reached())
        why = self.guard.stopped(*made)
        if why is not None and not call.by_person:
            hint = (
                "look at what it said, and try something else; the refusal ends after a minute, "
                "or when a file is changed (setting loop_guard)"
            )
            raise ProblemRaised("blocked", why, hint=hint)

    async def heed(self, running: Running, outcome: Outcome) -> None:
        """Tell a model that goes in circles; looking at what still runs is none."""
        prepared = running.prepared
        if prepared.call.by_person or (prepared.entry is not None and prepared.tool.polls):
            return
        made = (prepared.call.agent, prepared.name, prepared.arguments)
        changed = bool(running.changes)
        if prepared.rank is None:
            words = self.guard.note(*made, outcome.text, changed=changed)
        else:
            if not changed and self.guard.may_warn(*made, ahead=prepared.rank.same):
                await _earlier_ones(running)
            hear = partial(self.guard.note, *made, outcome.text, changed=changed)
            words = prepared.rank.tell(hear)
        if words is not None:
            outcome.text = f"{outcome.text}\n[handrail: {words}]"


async def _earlier_ones(running: Running) -> None:
    """Wait for the earlier calls of the batch; the call itself is done, so that whoever ends
    it now ends only the waiting.
    """
    rank, watch = running.prepared.rank, running.watch
    watch.deadline = None
    if rank is None:
        return
    try:
        await lend_slot(rank.reached())
    except asyncio.CancelledError:
        watch.take_back()
        if watch.cancelled_by_caller or not watch.ended:
            raise
