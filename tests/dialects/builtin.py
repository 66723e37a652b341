"""The built-in tools as dialect tests need them: names, schemas and prose, nothing run."""

from typing import Any

from handrail.core.arguments.schema import json_schema
from handrail.core.lazy import Lazy
from handrail.core.tool import Tool
from handrail.dialects.base import Vocabulary
from handrail.dialects.declare import ToolDeclaration
from handrail.tools._lib.services import Services
from handrail.tools.builtin import builtin_tools

UNUSED: Any = None
TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool for tool in builtin_tools(Services(UNUSED, UNUSED, Lazy(lambda: UNUSED)))
}
PARAMS = {name: set(tool.params.model_fields) for name, tool in TOOLS.items()}


def entries(vocabulary: Vocabulary) -> list[ToolDeclaration]:
    """Every built-in tool as a dialect shows it."""
    return [
        ToolDeclaration(
            view, json_schema(tool.params), str(tool.describe(UNUSED)), tool.output_schema
        )
        for tool in TOOLS.values()
        for view in vocabulary.views(tool.name)
    ]
