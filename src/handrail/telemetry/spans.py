"""Makes spans from events: one per task of an agent, request to a model and call of a tool.

Names and attributes follow the semantic conventions of OpenTelemetry for generative AI; others
begin with `handrail.`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context

from handrail.core.events import Event

_OPERATION: Final = "gen_ai.operation.name"
_MAX_TOUCHES: Final = 50
_MAX_NAME: Final = 64


class _OpenSpans(NamedTuple):
    """The spans of the agent that works in this task, and of its request to the model."""

    agent: Span
    key: tuple[str, str]
    model: str
    above: _OpenSpans | None = None
    request: Span | None = None


# Tasks that an agent starts inherit this variable, so that spans find their parents without names.
_current: ContextVar[_OpenSpans | None] = ContextVar("handrail_spans", default=None)


class SpanListener:
    """Turns the events of one runtime into spans. The parent of a call's span is that of its agent,
    or the span that was active when the call was made.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._calls: dict[str, Span] = {}
        self._open: set[Span] = set()
        self._handlers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "agent_start": self._begin_agent,
            "agent_end": self._end_agent,
            "model_request": self._begin_request,
            "model_retry": self._note_retry,
            "model_response": self._end_request,
            "tool_call_start": self._begin_call,
            "tool_call_end": self._end_call,
        }

    def on_event(self, event: Event) -> None:
        """Begin, complete or annotate a span."""
        handler = self._handlers.get(event.type)
        if handler is not None:
            handler(event.to_dict())

    def close(self) -> None:
        """End the open spans: interrupted tasks have no other end."""
        for span in tuple(self._open):
            with suppress(Exception):
                span.end()
        self._open.clear()
        self._calls.clear()

    def _begin_agent(self, given: Mapping[str, Any]) -> None:
        key, above = (given["agent"], given["session"]), _current.get()
        if above is not None and above.key == key:
            # The previous task was interrupted.
            self._end(above.agent, {}, failed=True)
            above = above.above
            _current.set(above)
        span = self._begin(
            f"invoke_agent {_short(given['agent'])}",
            {
                _OPERATION: "invoke_agent",
                "gen_ai.agent.name": _short(given["agent"]),
                "gen_ai.request.model": given["model"],
                "gen_ai.conversation.id": given["session"],
                "handrail.agent.type": given["agent_type"],
                "handrail.agent.depth": given["depth"],
            },
        )
        _current.set(_OpenSpans(span, key, given["model"], above))

    def _end_agent(self, given: Mapping[str, Any]) -> None:
        spans = _current.get()
        if spans is None:
            return
        self._end(spans.request, {})
        attributes = {
            **_usage(given["usage"]),
            "handrail.agent.status": given["status"],
            "handrail.agent.turns": given["turns"],
        }
        self._end(spans.agent, attributes, failed=given["status"] != "done")
        _current.set(spans.above)

    def _begin_request(self, given: Mapping[str, Any]) -> None:
        spans = _current.get()
        if spans is None:
            return
        attributes = {
            _OPERATION: "chat",
            "gen_ai.request.model": spans.model,
            "handrail.step": given["step"],
        }
        self._end(spans.request, {})
        request = self._begin(f"chat {spans.model}", attributes)
        _current.set(spans._replace(request=request))

    def _note_retry(self, given: Mapping[str, Any]) -> None:
        spans = _current.get()
        if spans is not None and spans.request is not None:
            facts = {"code": given["code"], "attempt": given["attempt"]}
            spans.request.add_event("handrail.retry", facts)

    def _end_request(self, given: Mapping[str, Any]) -> None:
        spans = _current.get()
        if spans is None:
            return
        finish = [given["finish"]]
        usage = _usage(given["usage"])
        self._end(spans.request, {**usage, "gen_ai.response.finish_reasons": finish})
        _current.set(spans._replace(request=None))

    def _begin_call(self, given: Mapping[str, Any]) -> None:
        tool = _short(given["tool"])
        self._calls[given["call_id"]] = self._begin(
            f"execute_tool {tool}",
            {
                _OPERATION: "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": given["call_id"],
                "gen_ai.tool.type": "function",
                "gen_ai.agent.name": _short(given["agent"]),
            },
        )

    def _end_call(self, given: Mapping[str, Any]) -> None:
        attributes: dict[str, Any] = {
            "handrail.status": given["status"],
            "handrail.changes": given["changes"],
            "handrail.footprint": list(given["footprint"][:_MAX_TOUCHES]),
        }
        if given["rule"] is not None:
            # The rest is the pattern of a rule, which may be a whole command line.
            attributes["handrail.rule"] = given["rule"].partition("(")[0]
        named = {"verdict": "handrail.verdict", "code": "error.type"}
        attributes |= {name: given[key] for key, name in named.items() if given[key] is not None}
        failed = given["status"] not in ("ok", "planned")
        self._end(self._calls.pop(given["call_id"], None), attributes, failed=failed)

    def _begin(self, name: str, attributes: dict[str, Any]) -> Span:
        above = _current.get()
        context: Context = get_current() if above is None else set_span_in_context(above.agent)
        span = self._tracer.start_span(name, context, attributes=attributes)
        self._open.add(span)
        return span

    def _end(
        self, span: Span | None, attributes: Mapping[str, Any], *, failed: bool = False
    ) -> None:
        if span is None or span not in self._open:
            return
        self._open.discard(span)
        span.set_attributes(attributes)
        if failed:
            span.set_status(Status(StatusCode.ERROR))
        span.end()


def _short(name: str) -> str:
    """Return a name that a model may have invented, as a label."""
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"


def _usage(given: Mapping[str, Any]) -> dict[str, int]:
    """The tokens of a response, or of a whole task."""
    found = {
        "gen_ai.usage.input_tokens": given.get("input_tokens", given.get("input")),
        "gen_ai.usage.output_tokens": given.get("output_tokens", given.get("output")),
    }
    return {name: int(value) for name, value in found.items() if value is not None}
