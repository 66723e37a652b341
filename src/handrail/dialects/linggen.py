"""Linggen's vocabulary: capitalised names, lists of globs, times in milliseconds."""

from __future__ import annotations

from typing import Final

from handrail.dialects.base import Arg, Dialect, View, same
from handrail.dialects.convert import from_ms, milliseconds, to_ms

_COUNT: Final = {"default": 200}

LINGGEN: Final = Dialect(
    "linggen",
    3,
    (
        View(
            "find_files",
            "Glob",
            (Arg("globs", "pattern", {"default": "**/*"}), Arg("max_results", "limit", _COUNT)),
            defaults={"pattern": "**/*", "limit": 200},
            example={"globs": ["src/**/*.rs", "*.toml"], "max_results": 50},
        ),
        View(
            "read_file",
            "Read",
            same("path", "max_bytes", "line_range"),
            example={"path": "src/main.rs", "line_range": [10, 40]},
        ),
        View(
            "grep",
            "Grep",
            (
                Arg("query", "pattern"),
                Arg("globs", "glob"),
                Arg("max_results", "limit", _COUNT),
            ),
            defaults={"output_mode": "content", "limit": 200},
            note="Shows the matching lines.",
            example={"query": "fn main", "globs": ["*.rs"], "max_results": 20},
        ),
        View(
            "write_file",
            "Write",
            same("path", "content"),
            example={"path": "notes.txt", "content": "one\n"},
        ),
        View(
            "edit_file",
            "Edit",
            same("path", "old_string", "new_string", "replace_all"),
            example={"path": "src/main.rs", "old_string": "a", "new_string": "b"},
        ),
        View(
            "run_command",
            "Bash",
            (
                Arg("cmd", "command"),
                milliseconds("timeout_ms", 30_000),
            ),
            example={"cmd": "cargo test", "timeout_ms": 60_000},
        ),
        View(
            "lock_paths",
            "lock_paths",
            (
                *same("globs"),
                Arg(
                    "ttl_ms",
                    "ttl_s",
                    {
                        "description": "Milliseconds until the lock ends.",
                        "type": "integer",
                        "minimum": 1_000,
                        "maximum": 3_600_000,
                    },
                    from_ms,
                    to_ms,
                ),
            ),
            example={"globs": ["src/**"], "ttl_ms": 60_000},
        ),
        View(
            "screenshot",
            "capture_screenshot",
            (
                *same("url"),
                Arg(
                    "delay_ms",
                    "delay_s",
                    {
                        "description": "Milliseconds to wait.",
                        "type": "integer",
                        "minimum": 0,
                        "maximum": 30_000,
                    },
                    from_ms,
                    to_ms,
                ),
            ),
            example={"url": "http://localhost:3000/", "delay_ms": 500},
        ),
        View(
            "web_search",
            "WebSearch",
            same("query", "max_results"),
            example={"query": "sqlite wal checkpoint", "max_results": 5},
        ),
        View(
            "subagent",
            "delegate_to_agent",
            (Arg("target_agent_id", "agent"), *same("task")),
            required=("target_agent_id", "task"),
            example={"target_agent_id": "explore", "task": "Where are retries configured?"},
        ),
        View(
            "execute_code",
            "execute_code",
            same("language", "code"),
            example={"language": "python", "code": "print(6 * 7)"},
        ),
    ),
    # It changes files by replacing text, and its commands cannot be sent to the background.
    hidden_by_default=frozenset({"apply_patch", "notebook_edit", "job_output", "job_kill"}),
    command_timeout_s=30,
    actions=frozenset({"execute_code"}),
)
