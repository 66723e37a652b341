"""Codex's vocabulary for files and patches."""

from __future__ import annotations

from typing import Final

from handrail.dialects.base import Arg, Dialect, View, same
from handrail.dialects.convert import from_words, milliseconds, more_than_one, to_words, without_ids

# Arguments for the wait and the output limit of a call; settings determine both.
_WAITING: Final = ("yield_time_ms", "max_output_tokens")

CODEX: Final = Dialect(
    "codex",
    4,
    (
        View(
            "read_file",
            "read_file",
            (Arg("file_path", "path"), *same("offset", "limit")),
            example={"file_path": "src/app.py", "offset": 10, "limit": 40},
        ),
        View(
            "apply_patch",
            "apply_patch",
            (Arg("input", "patch"),),
            example={"input": "*** Begin Patch\n*** Delete File: old.txt\n*** End Patch\n"},
        ),
        View(
            "list_files",
            "list_dir",
            (
                Arg("dir_path", "path"),
                Arg("depth", "recursive", read=more_than_one, hidden=True),
                Arg("offset", None, hidden=True),
                Arg("limit", None, hidden=True),
            ),
            example={"dir_path": "src"},
        ),
        View(
            "grep",
            "grep_files",
            (*same("pattern"), Arg("include", "glob"), *same("path", "limit")),
            note="Lists the files that match.",
            example={"pattern": "def main", "include": "*.py", "path": "src", "limit": 20},
        ),
        View(
            "run_command",
            "shell",
            (
                Arg(
                    "command",
                    "command",
                    {"type": "array", "items": {"type": "string"}},
                    from_words,
                    to_words,
                ),
                Arg("workdir", "cwd"),
                milliseconds("timeout_ms", 120_000),
                Arg("with_escalated_permissions", "unconfined", hidden=True),
                Arg("justification", "description", hidden=True),
                # Of `exec_command`, as newer versions call it.
                *(Arg(name, None, hidden=True) for name in (*_WAITING, "login", "shell", "tty")),
            ),
            note='Give the words of the command, usually ["bash", "-lc", "…"].',
            example={"command": ["bash", "-lc", "pytest -q"], "workdir": "backend"},
        ),
        View(
            "job_write",
            "write_stdin",
            (
                Arg("session_id", "job"),
                Arg("chars", "text"),
                *(Arg(name, None, hidden=True) for name in _WAITING),
            ),
            example={"session_id": "1", "chars": "yes\n"},
        ),
        View(
            "todo_write",
            "update_plan",
            (
                Arg("plan", "todos", inner={"step": "content"}),
                Arg("explanation", None, hidden=True),
            ),
            example={"plan": [{"step": "Run the tests", "status": "in_progress"}]},
        ),
        View(
            "ask_user",
            "request_user_input",
            (Arg("questions", "questions", read=without_ids),),
            example={
                "questions": [
                    {
                        "question": "Which database?",
                        "header": "Database",
                        "options": [{"label": "SQLite"}, {"label": "Postgres"}],
                    }
                ]
            },
        ),
    ),
    # Its commands cannot be sent to the background.
    hidden_by_default=frozenset({"job_output", "job_kill"}),
)
