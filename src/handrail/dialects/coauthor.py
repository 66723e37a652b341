"""Coauthor's vocabulary: camelCase names and arguments, times in milliseconds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from handrail.core.traits import AGENT_TYPES
from handrail.dialects.base import Arg, Dialect, View, same
from handrail.dialects.convert import milliseconds

# The longest name of a tool that providers accept.
_MAX_NAME: Final = 64


def subtask_view(agent: str) -> View:
    """The view of `subagent` that starts an agent of one type."""
    return View(
        "subagent",
        f"create_subtask_{agent}",
        same("task", "context"),
        defaults={"agent": agent},
        note=f"The agent is of the type {agent}.",
        example={"task": "Where are retries configured?"},
    )


def add_subtasks(dialect: Dialect, agents: Collection[str]) -> Dialect:
    """The dialect with a view for each of these types of agents whose name is not too long."""
    known = {view.name for view in dialect.views}
    made = [subtask_view(agent) for agent in agents]
    fresh = [one for one in made if one.name not in known and len(one.name) <= _MAX_NAME]
    return replace(dialect, views=(*dialect.views, *fresh))


COAUTHOR: Final = Dialect(
    "coauthor",
    2,
    (
        View(
            "read_file",
            "readFile",
            same("path", "offset", "limit"),
            example={"path": "src/app.ts", "offset": 10, "limit": 40},
        ),
        View(
            "edit_file",
            "editFile",
            (
                *same("path"),
                Arg("oldString", "old_string"),
                Arg("newString", "new_string"),
                Arg("replaceAll", "replace_all"),
                *same("regex"),
            ),
            example={"path": "src/app.ts", "oldString": "a", "newString": "b"},
        ),
        View(
            "list_files",
            "listFiles",
            same("path", "pattern", "recursive"),
            example={"path": "src", "recursive": True},
        ),
        View(
            "run_command",
            "runCommand",
            (
                *same("command", "cwd"),
                milliseconds("timeout", 30_000),
                Arg("isBackground", "background"),
            ),
            example={"command": "npm test", "timeout": 60_000},
        ),
        View(
            "find_files",
            "glob",
            same("pattern", "path"),
            defaults={"sort": "mtime"},
            note="Newest files come first.",
            example={"pattern": "**/*.ts", "path": "src"},
        ),
        View(
            "grep",
            "grep",
            (*same("pattern", "path", "glob"), Arg("ignoreCase", "ignore_case")),
            defaults={"output_mode": "content"},
            note="Finds a regular expression and shows the matching lines.",
            example={"pattern": "function main", "path": "src", "glob": "*.ts"},
        ),
        *(subtask_view(agent) for agent in AGENT_TYPES),
    ),
    # It changes files by replacing text; an empty text creates a file.
    hidden_by_default=frozenset({"apply_patch", "notebook_edit", "write_file"}),
    command_timeout_s=30,
)
