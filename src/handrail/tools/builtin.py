"""The table of built-in tools; a new tool is one row here.

The module of a tool is imported when the tool is first used, so that a call loads only its own
tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from handrail.core.tool import Tool
from handrail.core.traits import ToolTraits
from handrail.tools._lib.services import Services


class BuiltinTool(NamedTuple):
    """Where a built-in tool is defined, and how it is constructed from the services."""

    module: str
    class_name: str
    build: Callable[[Any, Services], Tool[Any]]


# In the order in which models see them.
_TABLE: Final = (
    BuiltinTool("files.read_file", "ReadFile", lambda tool, s: tool(s.files, s.outputs, s.media)),
    BuiltinTool("files.write_file", "WriteFile", lambda tool, s: tool(s.files)),
    BuiltinTool("files.edit_file", "EditFile", lambda tool, s: tool(s.files)),
    BuiltinTool(
        "files.apply_patch",
        "ApplyPatch",
        lambda tool, s: tool(s.files, allow_delete=s.allow_delete),
    ),
    BuiltinTool("files.notebook_edit", "NotebookEdit", lambda tool, s: tool(s.files)),
    BuiltinTool(
        "files.delete_file",
        "DeleteFile",
        lambda tool, s: tool(s.files, allow_delete=s.allow_delete),
    ),
    BuiltinTool("files.list_files", "ListFiles", lambda tool, s: tool(s.files, s.search)),
    BuiltinTool("files.file_info", "FileInfo", lambda tool, s: tool(s.files)),
    BuiltinTool(
        "files.lsp_rename",
        "LspRename",
        lambda tool, s: tool(s.files, s.language_servers, s.withheld, s.call_tool),
    ),
    BuiltinTool("session.undo", "UndoTool", lambda tool, s: tool(s.undo)),
    BuiltinTool("session.show_changes", "ShowChanges", lambda tool, s: tool(s.undo)),
    BuiltinTool("search.find_files", "FindFiles", lambda tool, s: tool(s.search)),
    BuiltinTool("search.grep", "Grep", lambda tool, s: tool(s.search, s.outputs)),
    BuiltinTool("search.lsp", "Lsp", lambda tool, s: tool(s.files, s.language_servers, s.withheld)),
    BuiltinTool("commands.run_command", "RunCommand", lambda tool, s: tool(s.files, s.shell)),
    BuiltinTool(
        "commands.job_output",
        "JobOutputTool",
        lambda tool, s: tool(s.shell, s.outputs, s.subagents),
    ),
    BuiltinTool("commands.job_kill", "JobKill", lambda tool, s: tool(s.shell, None, s.subagents)),
    BuiltinTool("commands.job_write", "JobWrite", lambda tool, s: tool(s.shell, s.outputs)),
    BuiltinTool("commands.job_list", "JobList", lambda tool, s: tool(s.shell)),
    BuiltinTool("commands.execute_code", "ExecuteCode", lambda tool, s: tool(s.shell)),
    BuiltinTool("session.enter_plan_mode", "EnterPlanMode", lambda tool, s: tool(s.plan_mode)),
    BuiltinTool("session.exit_plan_mode", "ExitPlanMode", lambda tool, s: tool(s.plan_mode)),
    BuiltinTool("session.lock_paths", "LockPaths", lambda tool, s: tool(s.locks)),
    BuiltinTool("session.unlock_paths", "UnlockPaths", lambda tool, s: tool(s.locks)),
    BuiltinTool("session.ask_user", "AskUser", lambda tool, s: tool(s.questions)),
    BuiltinTool("session.skill", "SkillLoader", lambda tool, s: tool(s.skills)),
    BuiltinTool("session.subagent", "SubagentTool", lambda tool, s: tool(s.subagents)),
    BuiltinTool("tasks.todo_write", "TodoWrite", lambda tool, s: tool(s.todos)),
    BuiltinTool("tasks.task_create", "TaskCreate", lambda tool, s: tool(s.todos)),
    BuiltinTool("tasks.task_update", "TaskUpdate", lambda tool, s: tool(s.todos)),
    BuiltinTool("tasks.task_get", "TaskGet", lambda tool, s: tool(s.todos)),
    BuiltinTool("tasks.task_list", "TaskList", lambda tool, s: tool(s.todos)),
    BuiltinTool("web.web_fetch", "WebFetch", lambda tool, s: tool(s.web)),
    BuiltinTool("web.web_search", "WebSearchTool", lambda tool, s: tool(s.web)),
    BuiltinTool("web.screenshot", "ScreenshotTool", lambda tool, s: tool(s.web)),
    BuiltinTool("remote.tool_search", "ToolSearch", lambda tool, s: tool(s.remote_tools)),
    BuiltinTool("remote.mcp_call", "McpCall", lambda tool, s: tool(s.remote_tools)),
)
# Notes take up to 1,500 characters of a page; the engine truncates a smaller result.
_LEAST_PAGE: Final = 2_000
_BY_NAME: Final = {row.module.rpartition(".")[2]: row for row in _TABLE}

BUILTIN_NAMES: Final = tuple(_BY_NAME)


def build_tool(name: str, services: Services) -> Tool[Any]:
    """Return the built-in tool with this name; raises KeyError if there is none."""
    tool = _BY_NAME[name].build(_tool_class(name), services)
    if services.max_chars < tool.max_chars:
        tool.max_chars = max(services.max_chars, _LEAST_PAGE)
    return tool


def builtin_tools(services: Services) -> list[Tool[Any]]:
    """Return every built-in tool, in the order in which models see them."""
    return [build_tool(name, services) for name in BUILTIN_NAMES]


def filesystem_tools(services: Services) -> list[Tool[Any]]:
    """Return the tools that read or change named files and directories."""
    return _tools_in("files", services)


def search_tools(services: Services) -> list[Tool[Any]]:
    """Return the tools that find files by name or content."""
    return _tools_in("search", services)


def command_tools(services: Services) -> list[Tool[Any]]:
    """Return the tools that run programs, and those for background jobs."""
    return _tools_in("commands", services)


def session_tools(services: Services) -> list[Tool[Any]]:
    """Return the tools about the session: plan mode, path locks, undo, history, questions, skills,
    subagents.
    """
    return _tools_in("session", services)


def task_tools(services: Services) -> list[Tool[Any]]:
    """Return the tools about the to-do list of the session."""
    return _tools_in("tasks", services)


def builtin_traits(name: str) -> ToolTraits | None:
    """Return what a built-in tool declares about itself; None if there is no such tool."""
    return _tool_class(name).traits if name in _BY_NAME else None


def iter_builtin_traits() -> Iterator[tuple[str, ToolTraits]]:
    """Yield every built-in tool's name with its traits."""
    for name in BUILTIN_NAMES:
        yield name, _tool_class(name).traits


def web_tools(services: Services) -> list[Tool[Any]]:
    """Return the tools that reach the web."""
    return _tools_in("web", services)


def remote_tools(services: Services) -> list[Tool[Any]]:
    """Return the tools that give access to tools of MCP servers."""
    return _tools_in("remote", services)


def _tools_in(folder: str, services: Services) -> list[Tool[Any]]:
    rows = [name for name, row in _BY_NAME.items() if row.module.startswith(f"{folder}.")]
    return [build_tool(name, services) for name in rows]


@cache
def _tool_class(name: str) -> type[Tool[Any]]:
    row = _BY_NAME[name]
    tool_class: type[Tool[Any]] = getattr(
        import_module(f"handrail.tools.{row.module}"), row.class_name
    )
    return tool_class
