"""Runs the calls of a message while the message is still being streamed.

Calls that only read may start early; everything else waits until the message has ended with tool
calls. Looking ahead has no effect: no process, no hook, no network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handrail.core.commands import CommandAnalysis
from handrail.core.effects import Effects
from handrail.core.events import CallRefusedEarly, Listener
from handrail.core.footprint import Footprint
from handrail.core.ports.models import Finish
from handrail.core.problems import Problem
from handrail.core.results import ToolResult
from handrail.engine.batch.batch_runner import BegunCalls
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.providers.message_calls import (
    CallLimit,
    MessagePreparer,
    MessageScope,
    ModelCalls,
    hold_effects,
)
from handrail.engine.providers.provider_messages import ResponseEnd

# Understanding a call of such a tool may start a helper process or reach out.
_NOT_FORESEEN: Final = Effects.OPEN_ENDED | Effects.NETWORK
_UNFINISHED: Final = ResponseEnd(Finish.CUT)


@dataclass(slots=True)
class _StreamedCall:
    """A call whose arguments are complete. `prepared` is None if it cannot be looked at yet."""

    asked: Mapping[str, Any]
    prepared: PreparedCall | None
    may_start: bool
    # Why the call must not run, by a limit that counts calls.
    refusal: Problem | None = None


class StreamedCalls:
    """The calls of one message. `add` them in order, `advance` when something follows the last one,
    then `finish`, or `settle` if the message is given up.
    """

    def __init__(
        self,
        calls: ModelCalls,
        agent: str,
        on_event: Listener | None,
        limit: CallLimit | None,
        conversation: str,
        turn: int,
    ) -> None:
        self._calls = calls
        # None also once the message has ended or was given up: its calls are settled then.
        self._limit = limit
        self._on_event = on_event
        self._scope = MessageScope(None, turn, agent, conversation)
        self._begun = BegunCalls(calls.services.batches.value, on_event)
        self._streamed: list[_StreamedCall] = []
        # The command of each call, None for calls that run none; known after `finish`.
        self.commands: list[CommandAnalysis | None] = []

    def scope_to(self, response: str | None) -> None:
        """Scope the ids of the calls to a response; without an id of its own it gets a new one."""
        name = response or f"stream-{self._calls.runner.ids.fresh_id()}"
        self._scope = self._scope._replace(response=name)

    def add(self, asked: Mapping[str, Any]) -> None:
        """A call is complete: `{"id", "name", "arguments"}`. It does not start yet: until something
        follows it, it may be the last call of a message that was cut off.
        """
        refusal = None if self._limit is None else self._limit.charge_call()
        effects = self._calls.preparer.tool_effects(str(asked["name"]))
        if refusal is not None or (effects is not None and effects & _NOT_FORESEEN):
            self._streamed.append(_StreamedCall(asked, None, may_start=False, refusal=refusal))
            return
        prepared = self._preparer.understand(asked, len(self._streamed), self._scope)
        foresight = self._calls.services.policy.foresee(prepared)
        if foresight.refusal is not None:
            refusal = foresight.refusal
            event = CallRefusedEarly(prepared.call.id, prepared.name, refusal.code, refusal.message)
            self._calls.services.bus.emit(event, self._on_event)
        reads = prepared.reads_only and foresight.unasked
        may_start = reads and not self._conflicts(prepared.footprint)
        self._streamed.append(_StreamedCall(asked, prepared, may_start))

    def advance(self) -> None:
        """Something follows the calls that were added: those that may start do."""
        for position, one in enumerate(self._streamed):
            if one.may_start and one.prepared is not None:
                one.may_start = False
                # A hook that turns the call into one with an effect is refused.
                hold_effects(one.prepared, _UNFINISHED)
                self._begun.start(one.prepared, position)

    async def finish(
        self, asked: Sequence[Mapping[str, Any]], end: ResponseEnd, *, begin: bool = True
    ) -> list[ToolResult]:
        """Run what has not begun, as the end of the message allows, and return the results of all
        calls of the message in order. Without `begin` nothing more is run.
        """
        self._limit = None
        prepared: list[PreparedCall] = []
        for position, call in enumerate(asked):
            known = self._streamed[position] if position < len(self._streamed) else None
            understood = None if known is None else known.prepared
            if understood is not None and self._begun.has_begun(understood):
                prepared.append(understood)
                continue
            if understood is not None:
                self._calls.preparer.re_resolve_paths(understood)
            last = position == len(asked) - 1 or not begin
            made = self._preparer.prepare_one(
                call, position, end, self._scope, last=last, understood=understood
            )
            if known is not None and made.problem is None:
                made.problem = known.refusal
            prepared.append(made)
        self.commands = [one.scope.footprint.command for one in prepared]
        return await self._calls.run_turn(prepared, self._scope.turn, self._on_event, self._begun)

    async def settle(self) -> None:
        """Wait for the calls that have begun; the others never begin, and are not counted."""
        limit, self._limit = self._limit, None
        if limit is not None:
            for one in self._streamed:
                begun = one.prepared is not None and self._begun.has_begun(one.prepared)
                if one.refusal is None and not begun:
                    limit.return_call()
        await self._begun.settle()

    @property
    def reads_only(self) -> bool:
        """Whether all calls that were added are known to only read."""
        return all(one.prepared is not None and one.prepared.reads_only for one in self._streamed)

    @property
    def _preparer(self) -> MessagePreparer:
        return MessagePreparer(self._calls.preparer, self._calls.runner.ids)

    def _conflicts(self, footprint: Footprint) -> bool:
        """Whether an earlier call that waits for the end must run first."""
        return any(
            one.prepared is None or one.prepared.footprint.conflicts_with(footprint)
            for one in self._streamed
            if one.prepared is None or not one.prepared.reads_only
        )
