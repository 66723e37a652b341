"""The canonical vocabulary, which rules, records and the documentation use."""

from __future__ import annotations

from typing import Final

from handrail.dialects.base import Arg, Dialect, View

CANONICAL: Final = Dialect(
    "canonical",
    3,
    (
        View(
            "read_file",
            "read_file",
            rest=True,
            example={"path": "src/app.py", "offset": 10, "limit": 40},
        ),
        View(
            "write_file",
            "write_file",
            rest=True,
            example={"path": "notes.txt", "content": "one\n", "mode": "append"},
        ),
        View(
            "edit_file",
            "edit_file",
            rest=True,
            example={"path": "src/app.py", "old_string": "a", "new_string": "b"},
        ),
        View(
            "apply_patch",
            "apply_patch",
            rest=True,
            example={"patch": "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-old\n+new\n"},
        ),
        View(
            "notebook_edit",
            "notebook_edit",
            rest=True,
            example={"path": "a.ipynb", "cell": "3", "new_source": "x = 1"},
        ),
        View("delete_file", "delete_file", rest=True, example={"path": "old.txt"}),
        View("list_files", "list_files", rest=True, example={"path": "src", "recursive": True}),
        View(
            "find_files",
            "find_files",
            # Shown only in dialects that have it: a pattern can express the same.
            args=(Arg("recursive", "recursive", hidden=True),),
            rest=True,
            example={"pattern": "*.py", "sort": "mtime"},
        ),
        View(
            "grep",
            "grep",
            args=(
                Arg("recursive", "recursive", hidden=True),
                Arg("line_numbers", "line_numbers", hidden=True),
            ),
            rest=True,
            example={"pattern": "TODO|FIXME", "glob": "*.py", "output_mode": "content"},
        ),
        View(
            "undo",
            "undo",
            # Only for the user.
            args=(Arg("force", "force", hidden=True),),
            rest=True,
            example={"scope": "turn"},
        ),
        View("show_changes", "show_changes", rest=True, example={"path": "src/app.py"}),
        View("file_info", "file_info", rest=True, example={"path": "src/app.py"}),
        View(
            "run_command",
            "run_command",
            rest=True,
            example={"command": "pytest -q", "cwd": "backend", "timeout_s": 300},
        ),
        View(
            "job_output",
            "job_output",
            # Shown only in dialects that have it.
            args=(Arg("filter", "filter", hidden=True),),
            rest=True,
            example={"job": "1", "block": False},
        ),
        View("job_kill", "job_kill", rest=True, example={"job": "1"}),
        View("job_write", "job_write", rest=True, example={"job": "1", "text": "yes\n"}),
        View("job_list", "job_list", rest=True, example={}),
        View(
            "lsp",
            "lsp",
            rest=True,
            example={
                "operation": "goto_definition",
                "path": "src/app.py",
                "line": 10,
                "column": 5,
            },
        ),
        View(
            "lsp_rename",
            "lsp_rename",
            rest=True,
            example={"path": "src/app.py", "line": 10, "column": 5, "new_name": "total"},
        ),
        View("enter_plan_mode", "enter_plan_mode", rest=True, example={}),
        View(
            "lock_paths",
            "lock_paths",
            rest=True,
            example={"globs": ["src/**"], "ttl_s": 60.0},
        ),
        View("unlock_paths", "unlock_paths", rest=True, example={"tokens": ["9f2c"]}),
        View(
            "exit_plan_mode",
            "exit_plan_mode",
            # For callers that write no plan file.
            args=(Arg("plan", "plan", hidden=True),),
            rest=True,
            example={"allowed_prompts": [{"tool": "run_command", "prompt": "run the tests"}]},
        ),
        View(
            "ask_user",
            "ask_user",
            rest=True,
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
        View("skill", "skill", rest=True, example={"name": "release-notes"}),
        View(
            "subagent",
            "subagent",
            # Set only by the defaults of a dialect.
            args=(Arg("refuse_similar", "refuse_similar", hidden=True),),
            rest=True,
            example={"task": "Where are retries configured?", "agent": "explore"},
        ),
        View(
            "todo_write",
            "todo_write",
            rest=True,
            example={"todos": [{"content": "Run the tests", "status": "in_progress"}]},
        ),
        View("task_create", "task_create", rest=True, example={"content": "Run the tests"}),
        View("task_update", "task_update", rest=True, example={"task": "1", "status": "completed"}),
        View("task_get", "task_get", rest=True, example={"task": "1"}),
        View("task_list", "task_list", rest=True, example={"status": "pending"}),
        View(
            "execute_code",
            "execute_code",
            rest=True,
            example={"language": "python", "code": "print(6 * 7)"},
        ),
        View(
            "web_fetch",
            "web_fetch",
            rest=True,
            example={"url": "https://docs.example.org/api", "prompt": "Which errors are retried?"},
        ),
        View("screenshot", "screenshot", rest=True, example={"url": "http://localhost:3000/"}),
        View("web_search", "web_search", rest=True, example={"query": "sqlite wal checkpoint"}),
        View("tool_search", "tool_search", rest=True, example={"query": "create an issue"}),
        View(
            "mcp_call",
            "mcp_call",
            rest=True,
            example={"tool": "mcp__tracker__create_issue", "arguments": {"title": "Crash"}},
        ),
    ),
    # Few workspaces have notebooks.
    hidden_by_default=frozenset({"notebook_edit"}),
)
