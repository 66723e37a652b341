"""Connects a runtime with the tracer and meter providers of the program."""

from __future__ import annotations

from contextlib import AsyncExitStack
from importlib.util import find_spec

from handrail.core.problems import ProblemRaised
from handrail.engine.approval import Approval
from handrail.engine.events import EventBus


def add_telemetry(bus: EventBus, approval: Approval, ends: AsyncExitStack) -> None:
    """Report the events of a runtime as spans and metrics; raises `unavailable` if the packages of
    the extra `otel` are missing.
    """
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.metrics") is None:
        raise ProblemRaised(
            "unavailable",
            "the setting `telemetry` needs packages that are not installed",
            hint='pip install "handrail[otel]", or remove the setting',
        )
    from opentelemetry.trace import get_tracer

    from handrail import __version__
    from handrail.telemetry.metrics import process_metrics
    from handrail.telemetry.spans import SpanListener

    spans, metrics = SpanListener(get_tracer("handrail", __version__)), process_metrics(__version__)
    metrics.watch(approval)
    bus.subscribe(spans.on_event)
    bus.subscribe(metrics.on_event)
    ends.callback(spans.close)
