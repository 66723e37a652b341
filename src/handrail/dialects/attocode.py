"""Attocode's vocabulary: snake_case, `bash`, `glob`, and a tool for each way to undo."""

from __future__ import annotations

from typing import Final

from handrail.dialects.base import Arg, Dialect, View, same
from handrail.dialects.convert import milliseconds

ATTOCODE: Final = Dialect(
    "attocode",
    2,
    (
        View(
            "read_file",
            "read_file",
            same("path", "line_range"),
            example={"path": "src/app.ts", "line_range": [10, 40]},
        ),
        View(
            "write_file",
            "write_file",
            same("path", "content"),
            example={"path": "notes.txt", "content": "one\n"},
        ),
        View(
            "edit_file",
            "edit_file",
            same("path", "old_string", "new_string", "replace_all"),
            example={"path": "src/app.ts", "old_string": "a", "new_string": "b"},
        ),
        View(
            "list_files",
            "list_files",
            same("path", "pattern", "recursive"),
            example={"path": "src", "pattern": "*.ts"},
        ),
        View(
            "run_command",
            "bash",
            (
                *same("command", "cwd"),
                milliseconds("timeout", 120_000),
            ),
            example={"command": "npm test", "timeout": 300_000},
        ),
        View(
            "grep",
            "grep",
            (*same("pattern", "path", "glob", "ignore_case"), Arg("max_results", "limit")),
            defaults={"output_mode": "content"},
            note="Finds a regular expression and shows the matching lines.",
            example={"pattern": "def main", "path": "src", "glob": "*.py"},
        ),
        View(
            "find_files",
            "glob",
            same("pattern", "path"),
            defaults={"sort": "mtime"},
            note="Newest files come first.",
            example={"pattern": "**/*.ts", "path": "src"},
        ),
        View("file_info", "get_file_info", same("path"), example={"path": "src/app.ts"}),
        View(
            "undo",
            "undo_file",
            (Arg("path", "target", {"description": "The file whose last change is reverted."}),),
            defaults={"scope": "path"},
            required=("path",),
            note="Reverts the last change of one file.",
            example={"path": "src/app.ts"},
        ),
        View(
            "undo",
            "undo_turn",
            defaults={"scope": "turn", "target": "current"},
            note="Reverts every change of the current turn.",
            example={},
        ),
        View(
            "subagent",
            "spawn_agent",
            same("agent", "task"),
            # Tasks that are three quarters alike are refused too.
            defaults={"refuse_similar": True},
            example={"agent": "explore", "task": "Where are retries configured?"},
        ),
        View(
            "tool_search",
            "mcp_tool_search",
            same("query", "limit"),
            example={"query": "create an issue"},
        ),
        View(
            "tool_search",
            "mcp_tool_list",
            same("server"),
            defaults={"limit": 50},
            note="Lists all tools, or those of one server.",
            example={"server": "tracker"},
        ),
    ),
    # It changes files by replacing text, and its commands cannot be sent to the background.
    hidden_by_default=frozenset({"apply_patch", "notebook_edit", "job_output", "job_kill"}),
)
