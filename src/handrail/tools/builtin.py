"""Which tools are built in; a new one is one line here."""

from __future__ import annotations

from typing import Any

from handrail.core.tool import Tool
from handrail.core.tool_traits import ToolTraits
from handrail.tools._lib.services import Services
from handrail.tools.apply_patch import ApplyPatch
from handrail.tools.delete_file import DeleteFile
from handrail.tools.edit_file import EditFile
from handrail.tools.enter_plan_mode import EnterPlanMode
from handrail.tools.execute_code import ExecuteCode
from handrail.tools.exit_plan_mode import ExitPlanMode
from handrail.tools.file_info import FileInfo
from handrail.tools.find_files import FindFiles
from handrail.tools.grep import Grep
from handrail.tools.job_kill import JobKill
from handrail.tools.job_list import JobList
from handrail.tools.job_output import JobOutput
from handrail.tools.list_files import ListFiles
from handrail.tools.lock_paths import LockPaths
from handrail.tools.notebook_edit import NotebookEdit
from handrail.tools.read_file import ReadFile
from handrail.tools.run_command import RunCommand
from handrail.tools.show_changes import ShowChanges
from handrail.tools.undo import UndoTool
from handrail.tools.unlock_paths import UnlockPaths
from handrail.tools.write_file import WriteFile

__all__ = [
    "Services",
    "builtin_tools",
    "builtin_traits",
    "command_tools",
    "filesystem_tools",
    "search_tools",
    "session_tools",
]


def builtin_traits() -> dict[str, ToolTraits]:
    """What every built-in tool declares about itself, by the tool's name."""
    classes = (one for one in globals().values() if isinstance(one, type) and one is not Tool)
    return {one.name: one.traits for one in classes if issubclass(one, Tool)}


def builtin_tools(services: Services) -> list[Tool[Any]]:
    """Every built-in tool, in the order in which a model is shown them."""
    return [
        *filesystem_tools(services),
        *search_tools(services),
        *command_tools(services),
        *session_tools(services),
    ]


def filesystem_tools(services: Services) -> list[Tool[Any]]:
    """Tools that look at or change named files and directories."""
    return [
        ReadFile(services.files, services.outputs),
        WriteFile(services.files),
        EditFile(services.files),
        ApplyPatch(services.files, allow_delete=services.allow_delete),
        NotebookEdit(services.files),
        DeleteFile(services.files, allow_delete=services.allow_delete),
        ListFiles(services.files, services.search),
        FileInfo(services.files),
        UndoTool(services.past),
        ShowChanges(services.past),
    ]


def search_tools(services: Services) -> list[Tool[Any]]:
    """Tools that find files by name or content."""
    return [FindFiles(services.search), Grep(services.search, services.outputs)]


def command_tools(services: Services) -> list[Tool[Any]]:
    """Tools that run programs, and those that look after them."""
    return [
        RunCommand(services.files, services.shell),
        JobOutput(services.shell, services.outputs),
        JobKill(services.shell),
        JobList(services.shell),
        ExecuteCode(services.shell),
    ]


def session_tools(services: Services) -> list[Tool[Any]]:
    """Tools that change how the session goes on, and no file."""
    return [
        EnterPlanMode(services.planning),
        ExitPlanMode(services.planning),
        LockPaths(services.locks),
        UnlockPaths(services.locks),
    ]
