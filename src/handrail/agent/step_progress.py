"""The progress of a message while it is streamed: events of the agent, and the tokens used so far."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from handrail.agent.budget import BudgetMeter
from handrail.agent.events import ModelCall, ModelRetried, ModelText, ModelThinking
from handrail.core.events import Event
from handrail.core.ports.models import (
    CallClosed,
    CallDelta,
    CallOpened,
    MessageDone,
    ModelEvent,
    ModelRetry,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)


class StepProgress:
    """Turns the events of a model into events of the agent, and keeps the last usage."""

    def __init__(
        self,
        agent: str,
        step: int,
        emit: Callable[[Event], None],
        retry: Callable[[UsageReported | None], None],
        meter: BudgetMeter,
        input_estimate: int,
    ) -> None:
        self._agent = agent
        self._step = step
        self._emit = emit
        self._reported: UsageReported | None = None
        self._input_estimate = input_estimate
        self._output_bytes = 0
        # The calls whose arguments came in pieces.
        self._pieced: set[int] = set()
        # Charges an attempt that failed; raises `budget_exceeded` if no other may follow.
        self._retry = retry
        self._meter = meter
        # Whether the message has begun, and whether all of it was charged.
        self.begun = False
        self.charged = False

    def report(self, event: ModelEvent) -> None:
        """Report an event; raises `budget_exceeded` if a retry, or the message so far, exceeds the
        budget.
        """
        agent, step = self._agent, self._step
        self.begun = self.begun or not isinstance(event, ModelRetry | UsageReported)
        match event:
            case TextDelta(text):
                self._count(text)
                self._emit(ModelText(agent, step, text))
            case ThinkingDelta(text):
                self._count(text)
                self._emit(ModelThinking(agent, step, text))
            case CallOpened(_, id, name):
                self._emit(ModelCall(agent, step, id, name, complete=False))
            case CallDelta(index, piece):
                self._pieced.add(index)
                self._count(piece)
            case CallClosed(index, id, name, arguments_json):
                if index not in self._pieced:
                    self._count(arguments_json)
                self._emit(ModelCall(agent, step, id, name, complete=True))
            case UsageReported():
                self._reported = event
            case MessageDone():
                # Before its calls run, so that they can use what the request had reserved.
                self.charged = True
                self._meter.add_request(self.usage)
            case ModelRetry(attempt, code, wait_s, usage):
                self._retry(usage)
                self._emit(ModelRetried(agent, step, attempt, code, wait_s))

    def charge_stopped(self, error: BaseException) -> None:
        """Charge a message that was stopped before its end: by the user, or by a limit after its
        start.
        """
        if not self.charged and (self.begun or isinstance(error, asyncio.CancelledError)):
            self._meter.add_request(self.usage)
            self.charged = True

    def _count(self, text: str) -> None:
        self._output_bytes += len(text.encode("utf-8", "replace"))
        self._meter.check_answer(self._input_estimate, self._output_bytes // 4)

    @property
    def usage(self) -> UsageReported:
        """The provider's last report, or an estimate. A report before the end of the message may
        omit most of it.
        """
        output = self._output_bytes // 4
        if self._reported is None:
            return UsageReported(self._input_estimate, output, estimated=True)
        if self.charged or self._reported.output >= output:
            return self._reported
        return replace(self._reported, output=output, estimated=True)
