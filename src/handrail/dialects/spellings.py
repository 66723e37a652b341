"""Names that are accepted in every dialect and shown in none: tools of other products, and names that
models use for arguments although others were declared. The table is per tool, so that `limit` of one
tool never means an argument of another, and names that are not in it are not guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handrail.dialects.base import NOTHING, Arg, Dialect, View
from handrail.dialects.convert import inverted

_FILE: Final = ("file", "filepath", "file_path", "filePath", "filename")
_DIRECTORY: Final = ("dir_path", "directory", "dir")
_ITEM: Final = ("task_id", "taskId", "id")
_LIMIT: Final = ("max_results", "maxResults", "head_limit")

# Tool → canonical argument → other names of the argument.
ARGUMENTS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "read_file": {"path": _FILE, "line_range": ("lineRange",), "max_bytes": ("maxBytes",)},
    "write_file": {"path": _FILE},
    "edit_file": {
        "path": _FILE,
        "old_string": (
            *("old", "search", "from", "old_str", "oldStr", "oldString"),
            *("old_text", "oldText"),
        ),
        "new_string": (
            *("new", "replace", "to", "new_str", "newStr", "newString"),
            *("new_text", "newText"),
        ),
        "replace_all": ("replaceAll", "all"),
    },
    "apply_patch": {"path": _FILE, "patch": ("input", "diff", "patch_text", "patchText")},
    "notebook_edit": {
        "path": (*_FILE, "notebook_path", "notebookPath"),
        "cell": ("cell_id", "cellId", "cell_index", "cellIndex", "cell_number", "index"),
        "new_source": ("newSource", "source"),
        "cell_type": ("cellType",),
        "edit_mode": ("editMode",),
    },
    "delete_file": {"path": _FILE},
    "file_info": {"path": _FILE},
    "undo": {"target": ("path", *_FILE)},
    "show_changes": {"path": _FILE},
    "list_files": {"path": _DIRECTORY, "pattern": ("glob",)},
    "find_files": {"pattern": ("glob", "globs"), "path": _DIRECTORY, "limit": _LIMIT},
    "grep": {
        "pattern": ("query", "text"),
        "path": _DIRECTORY,
        "glob": ("globs", "file_pattern", "include"),
        "limit": _LIMIT,
        "context": ("context_lines",),
        "ignore_case": ("case_insensitive",),
    },
    "run_command": {
        "command": ("cmd",),
        "cwd": ("workdir", "working_directory", "workingDirectory", "directory"),
        "background": ("run_in_background", "is_background"),
    },
    "execute_code": {"language": ("lang",)},
    "job_output": {"job": ("task_id", "bash_id", "shell_id", "job_id", "taskId")},
    "job_kill": {"job": ("shell_id", "task_id", "bash_id", "job_id", "taskId")},
    "task_create": {"active_form": ("activeForm",)},
    "task_get": {"task": _ITEM},
    "task_update": {"task": _ITEM, "active_form": ("activeForm",)},
    "subagent": {
        "task": ("prompt", "instructions"),
        "agent": ("agent_type", "subagent_type", "target_agent_id", "agentType", "agent_name"),
        "background": ("run_in_background",),
        "max_steps": ("max_turns", "maxTurns", "max_iterations"),
        "tools": ("allowed_tools", "allowedTools"),
    },
}

# Tool → other name of the tool → the default values that the name implies.
NAMES: Final[Mapping[str, Mapping[str, Mapping[str, str | bool]]]] = {
    "read_file": {"readFile": NOTHING},
    "write_file": {"writeFile": NOTHING},
    "edit_file": {"editFile": NOTHING, "MultiEdit": NOTHING},
    "apply_patch": {"applyPatch": NOTHING},
    "notebook_edit": {"notebookEdit": NOTHING, "edit_notebook": NOTHING},
    "delete_file": {"deleteFile": NOTHING},
    "file_info": {"get_file_info": NOTHING, "getFileInfo": NOTHING},
    "undo": {
        "undo_file": {"scope": "path"},
        "undo_file_change": {"scope": "path"},
        "undo_turn": {"scope": "turn", "target": "current"},
    },
    "show_changes": {"show_file_history": NOTHING, "show_session_changes": NOTHING},
    "list_files": {"listFiles": NOTHING, "LS": NOTHING},
    "find_files": {
        "findFiles": NOTHING,
        "search_files": NOTHING,
        "searchFiles": NOTHING,
        "glob": {"sort": "mtime"},
    },
    "run_command": {"runCommand": NOTHING, "run_shell_command": NOTHING, "exec_command": NOTHING},
    "job_output": {"BashOutput": {"block": False}},
    "job_kill": {"KillBash": NOTHING, "TaskStop": NOTHING},
    "subagent": {"Agent": NOTHING, "Task": NOTHING},
}


def _args(tool: str) -> tuple[Arg, ...]:
    table = ARGUMENTS.get(tool, {})
    renamed = [Arg(name, to, hidden=True) for to, names in table.items() for name in names]
    if tool == "grep":
        renamed.append(Arg("case_sensitive", "ignore_case", read=inverted, hidden=True))
    return tuple(renamed)


SPELLINGS: Final = Dialect(
    "spellings",
    1,
    tuple(
        View(tool, name, _args(tool), rest=True, defaults=implied)
        for tool in ARGUMENTS
        for name, implied in {tool: NOTHING, **NAMES.get(tool, NOTHING)}.items()
    ),
)
