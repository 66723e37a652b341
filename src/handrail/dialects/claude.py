"""Claude Code's vocabulary: capitalised names, numbered lines, files by time of change."""

from __future__ import annotations

from typing import Final

from handrail.dialects.base import Arg, Dialect, View, same
from handrail.dialects.convert import from_ms, to_ms, zero_for_all

_FILE: Final = Arg("file_path", "path")
# Where a plan could be sent; it stays here.
_REMOTE: Final = ("pushToRemote", "remoteSessionId", "remoteSessionTitle", "remoteSessionUrl")


def _ms(name: str, default: int) -> Arg:
    schema = {
        "description": "Milliseconds.",
        "type": "integer",
        "default": default,
        "maximum": 600_000,
    }
    return Arg(name, "timeout_s", schema, from_ms, to_ms)


CLAUDE: Final = Dialect(
    "claude",
    2,
    (
        View(
            "read_file",
            "Read",
            (_FILE, *same("offset", "limit")),
            defaults={"number_lines": True},
            note="Every line comes with its number before it, which is not part of the file.",
            example={"file_path": "src/app.py", "offset": 10, "limit": 40},
        ),
        View(
            "write_file",
            "Write",
            (_FILE, *same("content")),
            example={"file_path": "notes.txt", "content": "one\n"},
        ),
        View(
            "edit_file",
            "Edit",
            (_FILE, *same("old_string", "new_string", "replace_all")),
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
            example={"notebook_path": "a.ipynb", "cell_id": "8a2f01bc", "new_source": "x = 1"},
        ),
        View(
            "find_files",
            "Glob",
            same("pattern", "path"),
            defaults={"sort": "mtime"},
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
                _ms("timeout", 120_000),
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
            (Arg("task_id", "job"), *same("block"), _ms("timeout", 30_000)),
            example={"task_id": "1", "block": False, "timeout": 5_000},
        ),
        View(
            "job_kill",
            "KillShell",
            (Arg("shell_id", "job"),),
            example={"shell_id": "1"},
            openings={"Background job ended": "Successfully killed shell"},
        ),
        View("enter_plan_mode", "EnterPlanMode", example={}),
        View(
            "exit_plan_mode",
            "ExitPlanMode",
            (
                Arg("allowedPrompts", "allowed_prompts"),
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
