"""The two peers, each called the way its own documentation calls it, in this process.

deepagents: the LangChain tools of its file system middleware. pydantic-ai: a user's own async
function behind its toolset (it brings no file tools). A peer that is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

DEEPAGENTS = "deepagents"
PYDANTIC_AI = "pydantic-ai"


def deepagents_tools(root: Path) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Return functions that take the arguments a model would give, by name; {} if not installed."""
    try:
        from deepagents.backends.filesystem import FilesystemBackend
        from deepagents.middleware.filesystem import FilesystemMiddleware
        from langchain.tools import ToolRuntime
    except ImportError:
        return {}
    backend = FilesystemBackend(root_dir=str(root), virtual_mode=True, max_file_size_mb=200)
    runtime = ToolRuntime(
        state={},
        context=None,
        config={},
        stream_writer=lambda _: None,
        tool_call_id="bench",
        store=None,
    )

    def bound(tool: Any) -> Callable[[dict[str, Any]], Any]:
        return lambda arguments: tool.invoke({**arguments, "runtime": runtime})

    return {tool.name: bound(tool) for tool in FilesystemMiddleware(backend=backend).tools}


def deepagents_schemas(root: Path, count: int) -> Callable[[], object] | None:
    """Its tools, repeated to `count`, as OpenAI schemas."""
    try:
        from deepagents.backends.filesystem import FilesystemBackend
        from deepagents.middleware.filesystem import FilesystemMiddleware
        from langchain_core.utils.function_calling import convert_to_openai_tool
    except ImportError:
        return None
    tools = FilesystemMiddleware(backend=FilesystemBackend(root_dir=str(root))).tools
    many = (list(tools) * count)[:count]
    return lambda: [convert_to_openai_tool(tool) for tool in many]


async def pydantic_ai_read() -> Callable[[str], Awaitable[Any]] | None:
    """A reading function called through a toolset, arguments validated."""
    try:
        from pydantic_ai import RunContext
        from pydantic_ai.models.test import TestModel
        from pydantic_ai.toolsets import FunctionToolset
        from pydantic_ai.usage import RunUsage
    except ImportError:
        return None
    toolset: Any = FunctionToolset()

    async def read_file(path: str) -> str:
        """Read a file."""
        with open(path) as file:
            return file.read()

    toolset.add_function(read_file)
    context: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    tool = (await toolset.get_tools(context))["read_file"]

    async def call(path: str) -> Any:
        arguments = tool.args_validator.validate_python({"path": path})
        return await toolset.call_tool("read_file", arguments, context, tool)

    return call


async def pydantic_ai_schemas(count: int) -> Callable[[], Awaitable[object]] | None:
    """`count` functions of a toolset, as the definitions that it hands to a model."""
    try:
        from pydantic_ai import RunContext
        from pydantic_ai.models.test import TestModel
        from pydantic_ai.toolsets import FunctionToolset
        from pydantic_ai.usage import RunUsage
    except ImportError:
        return None
    toolset: Any = FunctionToolset()

    def work(path: str, offset: int = 1, limit: int = 2000) -> str:
        """Read a part of a file."""
        return f"{path}{offset}{limit}"

    for number in range(count):
        toolset.add_function(work, name=f"work_{number}")
    context: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage())

    async def definitions() -> object:
        tools = await toolset.get_tools(context)
        return [tool.tool_def for tool in tools.values()]

    return definitions
