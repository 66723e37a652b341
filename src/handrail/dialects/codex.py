"""Codex's vocabulary for files and patches."""

from __future__ import annotations

from typing import Final

from handrail.dialects.base import Arg, Dialect, View, same
from handrail.dialects.convert import deeper_than_one, from_ms, from_words, to_ms, to_words

CODEX: Final = Dialect(
    "codex",
    2,
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
                Arg("depth", "recursive", read=deeper_than_one, hidden=True),
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
                Arg(
                    "timeout_ms",
                    "timeout_s",
                    {
                        "description": "Milliseconds.",
                        "type": "integer",
                        "default": 120_000,
                        "maximum": 600_000,
                    },
                    from_ms,
                    to_ms,
                ),
                Arg("with_escalated_permissions", "unconfined", hidden=True),
                Arg("justification", "description", hidden=True),
            ),
            note='Give the words of the command, usually ["bash", "-lc", "…"].',
            example={"command": ["bash", "-lc", "pytest -q"], "workdir": "backend"},
        ),
    ),
    # Its commands cannot be sent to the background.
    hidden_by_default=frozenset({"job_output", "job_kill"}),
)
