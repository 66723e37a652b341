"""The tools that each product offers, as names to declare, with a flag for each feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handrail.dialects.known import find_vocabulary

_FILES: Final = ("read_file", "write_file", "edit_file", "find_files", "grep", "notebook_edit")
# Dialect → the tools that its product offers, if they are not exactly those of the dialect's table.
_REGISTERED: Final[Mapping[str, tuple[str, ...]]] = {
    "claude": (
        *_FILES,
        *("run_command", "web_fetch", "web_search", "ask_user", "enter_plan_mode"),
        *("exit_plan_mode", "todo_write", "job_output", "job_kill", "skill", "lsp", "subagent"),
    ),
    "coauthor": ("read_file", "edit_file", "list_files", "run_command", "find_files", "grep"),
    "linggen": (
        *("find_files", "read_file", "grep", "write_file", "edit_file", "run_command"),
        *("screenshot", "lock_paths", "unlock_paths", "subagent", "web_search", "execute_code"),
    ),
    "attocode": (
        *(
            "read_file",
            "write_file",
            "edit_file",
            "list_files",
            "run_command",
            "grep",
            "find_files",
        ),
        *("file_info", "subagent", "task_create", "task_update", "task_get", "task_list", "undo"),
        "tool_search",
    ),
}
# Feature → the tools that are left out without it.
_FEATURES: Final[Mapping[str, frozenset[str]]] = {
    "commands": frozenset(
        {"run_command", "execute_code", "job_output", "job_kill", "job_write", "job_list"}
    ),
    "web": frozenset({"web_fetch", "web_search", "screenshot"}),
    "questions": frozenset({"ask_user"}),
    "plan": frozenset({"enter_plan_mode", "exit_plan_mode"}),
    "todos": frozenset({"todo_write", "task_create", "task_update", "task_get", "task_list"}),
    "skills": frozenset({"skill"}),
    "lsp": frozenset({"lsp", "lsp_rename"}),
    "subagents": frozenset({"subagent"}),
}


def tool_set(
    dialect: str = "canonical",
    *,
    commands: bool = True,
    web: bool = True,
    questions: bool = True,
    plan: bool = True,
    todos: bool = True,
    skills: bool = True,
    lsp: bool = False,
    subagents: bool = False,
) -> list[str]:
    """The names under which the tools of a product are declared: `rt.declare(provider,
    allowed=tool_set("claude"))`. Language servers and subagents are left out unless requested, because
    they need more than a workspace. Raises `invalid_arguments` for an unknown dialect.
    """
    flags = {
        "commands": commands,
        "web": web,
        "questions": questions,
        "plan": plan,
        "todos": todos,
        "skills": skills,
        "lsp": lsp,
        "subagents": subagents,
    }
    vocabulary = find_vocabulary(dialect)
    own = tuple(dict.fromkeys(view.tool for view in vocabulary.dialect.views))
    left_out = {tool for name, on in flags.items() if not on for tool in _FEATURES[name]}
    return [
        view.name
        for tool in _REGISTERED.get(dialect, own)
        if tool not in left_out
        for view in vocabulary.views(tool)
    ]
