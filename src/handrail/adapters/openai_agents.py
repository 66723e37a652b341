"""OpenAI Agents SDK: the tools of a runtime as function tools."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection
from typing import Any

from handrail.adapters.approvals import FrameworkAnswer
from handrail.adapters.binding import (
    BlockingRuntime,
    DeclaredTool,
    RuntimeBinding,
    missing_framework,
)
from handrail.core.results import ToolResult
from handrail.engine.runtime import Runtime

try:
    from agents import (
        FunctionTool,
        RunContextWrapper,
        ToolApprovalItem,
        ToolOutputImage,
        ToolOutputText,
    )
    from agents.tool_context import ToolContext
except ImportError as error:
    raise missing_framework(error, "openai-agents", "openai-agents") from error


def function_tools(
    runtime: Runtime | BlockingRuntime,
    *,
    tools: Collection[str] | None = None,
    agent: str = "main",
) -> list[FunctionTool]:
    """Return the tools of an opened runtime; `tools` names them, None means all that a model is
    shown.

    The model is told why a call failed. With `FrameworkApprover` as the approver of the runtime, a
    call that may need approval is an interruption of the run, with the arguments of the call.
    """
    binding = RuntimeBinding(runtime, agent)
    return [_FunctionCalls(binding, one).make_tool() for one in binding.declare(tools)]


class _FunctionCalls:
    """Makes the calls of one tool."""

    def __init__(self, binding: RuntimeBinding, declared: DeclaredTool) -> None:
        self._binding = binding
        self._declared = declared

    def make_tool(self) -> FunctionTool:
        return FunctionTool(
            name=self._declared.name,
            description=self._declared.description,
            params_json_schema=self._declared.parameters,
            on_invoke_tool=self._invoke,
            # Strict schemas have no optional arguments.
            strict_json_schema=False,
            needs_approval=self._needs_approval if self._binding.asks_in_framework else False,
        )

    async def _needs_approval(
        self, context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str
    ) -> bool:
        """Return whether the user may have to be asked; False for a call that is refused anyway."""
        del context, call_id
        foreseen = await self._binding.foresee(self._declared.name, arguments)
        return foreseen.refusal is None and not foreseen.unasked

    async def _invoke(self, context: ToolContext[Any], arguments: str) -> Any:
        # The user was shown the arguments, which the SDK keeps with the approval.
        answer = FrameworkAnswer(approved=True) if _is_approved(context) else None
        return _returned((await self._binding.call(self._declared.name, arguments, answer)).result)


def _is_approved(context: ToolContext[Any]) -> bool:
    """Return whether the user has approved exactly this call."""
    name, call = context.tool_name, context.tool_call
    if context.agent is None or call is None:
        return False
    made = ToolApprovalItem(agent=context.agent, raw_item=call, tool_name=name)
    status = context.get_approval_status(name, context.tool_call_id, current_invocation=made)
    return status is True


def _returned(result: ToolResult) -> Any:
    """Return the text for the model, with the pictures for a model that accepts them."""
    if not result.images:
        return f"Error: {result.text}" if result.is_error else result.text
    pictures = [
        ToolOutputImage(
            image_url=f"data:{image.media_type};base64,{b64encode(image.data).decode()}"
        )
        for image in result.images
    ]
    return [ToolOutputText(text=result.text), *pictures]
