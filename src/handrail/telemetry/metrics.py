"""Metrics of all runtimes of the process: calls, refusals, durations, tokens, open questions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Protocol
from weakref import WeakSet

from opentelemetry.metrics import CallbackOptions, Meter, Observation, get_meter

from handrail.core.events import Event


class WaitingCalls(Protocol):
    """Returns how many calls wait for an answer of the user."""

    waiting: int


class CallMetrics:
    """The instruments, made once per process."""

    def __init__(self, meter: Meter) -> None:
        self._approvals: WeakSet[WaitingCalls] = WeakSet()
        self._calls = meter.create_counter(
            "handrail.calls", unit="{call}", description="calls that have ended"
        )
        self._refusals = meter.create_counter(
            "handrail.refusals", unit="{call}", description="calls that were not allowed to run"
        )
        self._durations = meter.create_histogram(
            "handrail.call.duration", unit="s", description="how long calls took"
        )
        self._tokens = meter.create_counter(
            "handrail.tokens", unit="{token}", description="tokens of requests to models"
        )
        meter.create_observable_gauge(
            "handrail.approvals.waiting",
            [self._observe_waiting],
            unit="{call}",
            description="calls that wait for an answer of the user",
        )

    def watch(self, approval: WaitingCalls) -> None:
        """Include the questions of a runtime, as long as it exists."""
        self._approvals.add(approval)

    def on_event(self, event: Event) -> None:
        """Count an event of a runtime."""
        if event.type == "tool_call_end":
            given = event.to_dict()
            # A model may invent any number of names.
            tool = "unknown" if given["code"] == "unknown_tool" else given["tool"]
            named = {"tool": tool, "status": given["status"]}
            self._calls.add(1, named)
            self._durations.record(given["duration_s"], named)
            if given["status"] == "refused":
                self._refusals.add(1, {"tool": tool, "code": given["code"] or ""})
        elif event.type == "model_response":
            usage = event.to_dict()["usage"]
            for kind in ("input", "output"):
                self._tokens.add(int(usage.get(kind) or 0), {"type": kind})

    def _observe_waiting(self, options: CallbackOptions) -> Iterable[Observation]:
        del options
        yield Observation(sum(one.waiting for one in tuple(self._approvals)))


@cache
def process_metrics(version: str) -> CallMetrics:
    """Return the instruments of this process, from the meter provider of the program."""
    return CallMetrics(get_meter("handrail", version))
