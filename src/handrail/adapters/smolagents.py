"""smolagents: the tools of a runtime as smolagents tools. The library has no interrupt, so questions go
to the approver of the runtime.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from handrail.adapters.binding import (
    BlockingRuntime,
    DeclaredTool,
    RuntimeBinding,
    missing_framework,
)
from handrail.core.results import ToolResult
from handrail.engine.runtime import Runtime

try:
    from smolagents import Tool
except ImportError as error:
    raise missing_framework(error, "smolagents", "smolagents") from error

_TYPES: Final = frozenset(("string", "boolean", "integer", "number", "array", "object", "null"))


class ToolCallFailed(Exception):
    """A call failed or was refused; smolagents shows the text to the model."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__(result.text)
        self.result = result


class SmolTool(Tool):
    """A tool of a runtime; raises `ToolCallFailed`."""

    # `forward` takes the arguments of any tool.
    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, binding: RuntimeBinding, declared: DeclaredTool) -> None:
        super().__init__()
        self._binding = binding
        self._called = declared.name
        # smolagents requires an identifier as name.
        self.name = declared.name.replace("-", "_")
        self.description = declared.description
        self.inputs = _inputs(declared.parameters)

    def forward(self, /, *values: Any, **arguments: Any) -> str:
        """Make the call; positional values belong to the first arguments."""
        given = {**dict(zip(self.inputs, values, strict=False)), **arguments}
        result = self._binding.call_blocking(self._called, given).result
        if result.is_error:
            raise ToolCallFailed(result)
        return result.text


def handrail_tools(
    runtime: Runtime | BlockingRuntime,
    *,
    tools: Collection[str] | None = None,
    agent: str = "main",
) -> list[Tool]:
    """Return the tools of an opened runtime; `tools` names them, None means all that a model is
    shown. An agent of smolagents blocks: use it with `handrail.sync.open`, or in a thread.
    """
    binding = RuntimeBinding(runtime, agent)
    return [SmolTool(binding, one) for one in binding.declare(tools)]


def _inputs(parameters: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arguments in the form of smolagents: each has a type and a description."""
    required = set(parameters.get("required", ()))
    inputs = {}
    for name, schema in parameters.get("properties", {}).items():
        given = {"description": name, **schema, "type": _type(schema)}
        inputs[name] = given if name in required else {**given, "nullable": True}
    return inputs


def _type(schema: Mapping[str, Any]) -> str | list[str]:
    stated = schema.get("type")
    types = [stated] if isinstance(stated, str) else list(stated or ())
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        types += [one["type"]] if isinstance(one.get("type"), str) else []
    known = [one for one in dict.fromkeys(types) if one in _TYPES]
    if not known or len(known) != len(set(types)):
        return "any"
    return known[0] if len(known) == 1 else known
