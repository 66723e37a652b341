"""Claude Code's vocabulary: capitalised names, numbered lines, files by time of change."""

from __future__ import annotations

from typing import Final

from handrail.dialects.base import Arg, Dialect, View, same
from handrail.dialects.convert import ALL, milliseconds, zero_for_all

_FILE: Final = Arg("file_path", "path")
_READ_FIRST: Final = (
    "It is refused for a file that was not read before in this session, or changed since."
)
# Arguments for sending a plan to another machine, which Handrail does not do.
_REMOTE: Final = ("pushToRemote", "remoteSessionId", "remoteSessionTitle", "remoteSessionUrl")
_AGENT_TYPE: Final = {
    "description": "Explore, Plan and review only read (tell Explore how thoroughly: quick, medium or very "
    "thorough); test runs the tests; general-purpose may change "
    "files; Bash runs commands; or one of the user's.",
}
# Canonical type of agent → the name in the description.
_AGENTS: Final = {
    "explore": "Explore",
    "plan": "Plan",
    "general": "general-purpose",
    "shell": "Bash",
}
_PROMPTS: Final = {
    "items": {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "enum": ["Bash"]},
            "prompt": {"type": "string", "description": 'What for, such as "run the tests".'},
        },
        "required": ["tool", "prompt"],
        "additionalProperties": False,
    }
}

CLAUDE: Final = Dialect(
    "claude",
    4,
    (
        View(
            "read_file",
            "Read",
            # Pages of a PDF file, as "1-5".
            (_FILE, *same("offset", "limit"), Arg("pages", "line_range", hidden=True)),
            defaults={"number_lines": True},
            note="Every line comes with its number before it, which is not part of the file.",
            example={"file_path": "src/app.py", "offset": 10, "limit": 40},
        ),
        View(
            "write_file",
            "Write",
            (_FILE, *same("content")),
            note=_READ_FIRST,
            example={"file_path": "notes.txt", "content": "one\n"},
        ),
        View(
            "edit_file",
            "Edit",
            (
                _FILE,
                *same("old_string", "new_string"),
                Arg("replace_all", "replace_all", {"default": False}),
            ),
            note=_READ_FIRST,
            example={"file_path": "src/app.py", "old_string": "a", "new_string": "b"},
        ),
        View(
            "notebook_edit",
            "NotebookEdit",
            (
                Arg("notebook_path", "path"),
                Arg("cell_id", "cell"),
                *same("new_source", "cell_type", "edit_mode"),
            ),
            note=_READ_FIRST,
            example={"notebook_path": "a.ipynb", "cell_id": "8a2f01bc", "new_source": "x = 1"},
        ),
        View(
            "find_files",
            "Glob",
            same("pattern", "path"),
            # As many as fit.
            defaults={"sort": "mtime", "limit": ALL},
            note="Newest files come first.",
            example={"pattern": "**/*.py", "path": "src"},
        ),
        View(
            "grep",
            "Grep",
            (
                *same("pattern", "path", "glob", "type", "output_mode"),
                Arg("-i", "ignore_case", {"description": "Ignore case."}),
                Arg("-n", "line_numbers", {"description": "Line numbers, in content mode."}),
                Arg("-A", "after"),
                Arg("-B", "before"),
                Arg("-C", "context"),
                *same("multiline"),
                Arg("head_limit", "limit", {"minimum": 0}, read=zero_for_all),
                *same("offset"),
            ),
            example={"pattern": "def main", "output_mode": "content", "-i": True, "-C": 2},
        ),
        View(
            "run_command",
            "Bash",
            (
                *same("command", "description"),
                milliseconds("timeout", 120_000),
                Arg("run_in_background", "background"),
                Arg("dangerously_disable_sandbox", "unconfined"),
                Arg("dangerouslyDisableSandbox", "unconfined", hidden=True),
            ),
            note="The directory in which a command ends is where the next one starts.",
            example={"command": "npm test", "timeout": 300_000, "description": "Run the tests"},
            openings={"Background job started": "Background task started"},
        ),
        View(
            "job_output",
            "TaskOutput",
            (Arg("task_id", "job"), *same("block"), milliseconds("timeout", 30_000, minimum=0)),
            example={"task_id": "1", "block": False, "timeout": 5_000},
        ),
        View(
            "job_kill",
            "KillShell",
            (Arg("shell_id", "job"),),
            example={"shell_id": "1"},
            openings={"Background job ended": "Successfully killed shell"},
        ),
        View(
            "todo_write",
            "TodoWrite",
            (Arg("todos", "todos", inner={"activeForm": "active_form"}),),
            example={
                "todos": [
                    {
                        "content": "Run the tests",
                        "status": "in_progress",
                        "activeForm": "Running the tests",
                    }
                ]
            },
        ),
        View(
            "ask_user",
            "AskUserQuestion",
            (Arg("questions", "questions", inner={"multiSelect": "multi_select"}),),
            example={
                "questions": [
                    {
                        "question": "Which database?",
                        "header": "Database",
                        "options": [{"label": "SQLite"}, {"label": "Postgres"}],
                        "multiSelect": False,
                    }
                ]
            },
        ),
        View(
            "web_fetch",
            "WebFetch",
            same("url", "prompt"),
            example={"url": "https://docs.example.org/api", "prompt": "Which errors are retried?"},
        ),
        View("web_search", "WebSearch", same("query"), example={"query": "sqlite wal checkpoint"}),
        View(
            "skill",
            "Skill",
            (Arg("skill", "name"), Arg("args", "arguments")),
            example={"skill": "release-notes", "args": "1.2"},
        ),
        View(
            "subagent",
            "Task",
            (
                *same("description"),
                Arg("prompt", "task"),
                Arg(
                    "subagent_type", "agent", _AGENT_TYPE, show=lambda name: _AGENTS.get(name, name)
                ),
                *same("model", "resume"),
                Arg("run_in_background", "background"),
                Arg("max_turns", "max_steps"),
                Arg("allowed_tools", "tools"),
            ),
            example={
                "description": "Find the retries",
                "prompt": "Where are retries configured?",
                "subagent_type": "Explore",
            },
            required=("description", "prompt", "subagent_type"),
        ),
        View(
            "lsp",
            "LSP",
            (*same("operation"), Arg("file_path", "path"), *same("line", "column", "query")),
            example={
                "operation": "goto_definition",
                "file_path": "src/app.py",
                "line": 10,
                "column": 5,
            },
        ),
        View("enter_plan_mode", "EnterPlanMode", example={}),
        View(
            "exit_plan_mode",
            "ExitPlanMode",
            (
                Arg("allowedPrompts", "allowed_prompts", _PROMPTS),
                # Older versions gave the plan here.
                Arg("plan", "plan", hidden=True),
                *(Arg(name, None, hidden=True) for name in _REMOTE),
            ),
            example={"allowedPrompts": [{"tool": "Bash", "prompt": "run the tests"}]},
        ),
    ),
    # These models change files by replacing text.
    hidden_by_default=frozenset({"apply_patch"}),
    keeps_directory=True,
    # Only the number of characters counts.
    output_lines=1_000_000,
)
