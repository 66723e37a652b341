"""LangChain: the tools of a runtime as LangChain tools."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from handrail.adapters.binding import (
    AdapterCall,
    BlockingRuntime,
    RuntimeBinding,
    missing_framework,
)
from handrail.adapters.graph_approvals import GraphApprovals
from handrail.core.results import ToolResult
from handrail.engine.runtime import Runtime

try:
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import PrivateAttr
except ImportError as error:
    raise missing_framework(error, "LangChain", "langchain") from error

_call_id: ContextVar[str | None] = ContextVar("handrail_langchain_call", default=None)


class HandrailTool(BaseTool):
    """A tool of a runtime. A failed call is a `ToolMessage` with the status `error`; the artifact of a
    message is the `ToolResult`.
    """

    handle_tool_error: bool = True
    response_format: Literal["content_and_artifact"] = "content_and_artifact"
    _calls: GraphApprovals = PrivateAttr()

    def __init__(self, calls: GraphApprovals, **declared: Any) -> None:
        super().__init__(**declared)
        self._calls = calls

    def run(
        self, tool_input: Any, *args: Any, tool_call_id: str | None = None, **named: Any
    ) -> Any:
        """Run the tool in this thread."""
        with _in_call(tool_call_id):
            return super().run(tool_input, *args, tool_call_id=tool_call_id, **named)

    async def arun(
        self, tool_input: Any, *args: Any, tool_call_id: str | None = None, **named: Any
    ) -> Any:
        """Run the tool."""
        with _in_call(tool_call_id):
            return await super().arun(tool_input, *args, tool_call_id=tool_call_id, **named)

    def _run(self, /, **arguments: Any) -> tuple[Any, ToolResult]:
        return _returned(self._calls.call_blocking(self.name, arguments, _call_id.get()))

    async def _arun(self, /, **arguments: Any) -> tuple[Any, ToolResult]:
        return _returned(await self._calls.call(self.name, arguments, _call_id.get()))


def handrail_tools(
    runtime: Runtime | BlockingRuntime,
    *,
    tools: Collection[str] | None = None,
    agent: str = "main",
) -> list[BaseTool]:
    """Return the tools of an opened runtime; `tools` names them, None means all that a model is
    shown. With `FrameworkApprover` as the approver of the runtime, a call that needs approval
    interrupts the graph.
    """
    binding = RuntimeBinding(runtime, agent)
    calls = GraphApprovals(binding)
    return [
        HandrailTool(calls, name=one.name, description=one.description, args_schema=one.parameters)
        for one in binding.declare(tools)
    ]


@contextmanager
def _in_call(call_id: str | None) -> Iterator[None]:
    token = _call_id.set(call_id)
    try:
        yield
    finally:
        _call_id.reset(token)


def _returned(made: AdapterCall) -> tuple[Any, ToolResult]:
    """Return the content of the message, with the pictures for a model that accepts them."""
    result = made.result
    if result.is_error:
        raise ToolException(result.text)
    if not result.images:
        return result.text, result
    pictures = [
        {"type": "image", "mime_type": image.media_type, "base64": b64encode(image.data).decode()}
        for image in result.images
    ]
    return [{"type": "text", "text": result.text}, *pictures], result
