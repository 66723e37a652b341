"""Architect's vocabulary: snake_case, `grep` for plain text and `search_code` for patterns."""

from __future__ import annotations

from typing import Final

from handrail.dialects.base import Arg, Dialect, View, same
from handrail.dialects.convert import any_file, inverted

_PATTERN: Final = {"description": "Only files whose name is like this, such as `*.py`."}

_AGENT_TYPE: Final = {
    "description": "explore and review only read; test also runs commands, and changes nothing.",
    "enum": ["explore", "test", "review"],
}
_TIMEOUT: Final = {
    "description": "Seconds.",
    "type": "integer",
    "default": 30,
    "minimum": 1,
    "maximum": 600,
}

ARCHITECT: Final = Dialect(
    "architect",
    5,
    (
        View(
            "read_file",
            "read_file",
            same("path", "offset", "limit"),
            example={"path": "src/app.py", "offset": 10, "limit": 40},
        ),
        View(
            "write_file",
            "write_file",
            same("path", "content", "mode"),
            example={"path": "notes.txt", "content": "one\n", "mode": "append"},
        ),
        View("delete_file", "delete_file", same("path"), example={"path": "old.txt"}),
        View(
            "edit_file",
            "edit_file",
            (*same("path"), Arg("old_str", "old_string"), Arg("new_str", "new_string")),
            example={"path": "src/app.py", "old_str": "a", "new_str": "b"},
        ),
        View(
            "apply_patch",
            "apply_patch",
            same("path", "patch"),
            required=("path",),
            example={"path": "src/app.py", "patch": "@@ -1 +1 @@\n-old\n+new\n"},
        ),
        View(
            "list_files",
            "list_files",
            (*same("path", "pattern"), Arg("recursive", "recursive", {"default": False})),
            example={"path": "src", "pattern": "*.py", "recursive": True},
        ),
        View(
            "grep",
            "search_code",
            (
                *same("pattern", "path"),
                Arg("file_pattern", "glob", _PATTERN, read=any_file),
                Arg("context_lines", "context", {"default": 2}),
                Arg("max_results", "limit"),
            ),
            # `before` and `after` instead of `context`, which would override given values of them.
            defaults={
                "output_mode": "content",
                "glob": "*.py",
                "before": 2,
                "after": 2,
                "limit": 50,
            },
            note="Finds a regular expression and shows the matching lines with their context.",
            example={"pattern": "def main", "path": "src", "context_lines": 3},
        ),
        View(
            "grep",
            "grep",
            (
                Arg("pattern", "pattern", {"description": "Plain text, not a pattern."}),
                *same("path"),
                Arg("file_pattern", "glob", {**_PATTERN, "default": "*"}, read=any_file),
                *same("recursive"),
                Arg("case_sensitive", "ignore_case", {"default": True}, inverted, inverted),
                Arg("max_results", "limit"),
            ),
            defaults={"output_mode": "content", "literal": True, "limit": 100},
            note="Finds plain text and shows the matching lines.",
            example={"pattern": "a.b(", "file_pattern": "*.py", "case_sensitive": False},
        ),
        View(
            "find_files",
            "find_files",
            same("pattern", "path", "recursive"),
            example={"pattern": "*.yaml", "path": "deploy", "recursive": False},
        ),
        View(
            "run_command",
            "run_command",
            (
                *same("command", "cwd"),
                Arg("timeout", "timeout_s", _TIMEOUT),
                *same("env"),
            ),
            example={"command": "pytest -q", "cwd": "backend", "timeout": 60},
        ),
        View(
            "subagent",
            "dispatch_subagent",
            (
                *same("task"),
                Arg("agent_type", "agent", _AGENT_TYPE),
                *same("context"),
            ),
            required=("agent_type",),
            example={"task": "Where are retries configured?", "agent_type": "explore"},
        ),
    ),
    # Its commands cannot be sent to the background.
    hidden_by_default=frozenset({"notebook_edit", "job_output", "job_kill"}),
    command_timeout_s=30,
)
