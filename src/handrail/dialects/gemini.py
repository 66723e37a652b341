"""Gemini CLI's vocabulary: `replace`, `list_directory`, `search_file_content`."""

from __future__ import annotations

from typing import Final

from handrail.dialects.base import Arg, Dialect, View, same
from handrail.dialects.convert import more_than_one

_FILE: Final = Arg("file_path", "path")
_FOLDER: Final = Arg("dir_path", "path")
# Arguments about ignored files, which ignore files and settings determine.
_IGNORED: Final = tuple(
    Arg(name, None, hidden=True)
    for name in ("ignore", "file_filtering_options", "respect_git_ignore", "case_sensitive")
)

GEMINI: Final = Dialect(
    "gemini",
    2,
    (
        View(
            "read_file",
            "read_file",
            (_FILE, Arg("absolute_path", "path", hidden=True), *same("offset", "limit")),
            example={"file_path": "src/app.ts", "offset": 10, "limit": 40},
        ),
        View(
            "write_file",
            "write_file",
            (_FILE, *same("content")),
            example={"file_path": "notes.txt", "content": "one\n"},
        ),
        View(
            "edit_file",
            "replace",
            (
                _FILE,
                *same("old_string", "new_string", "replace_all"),
                Arg("expected_replacements", "replace_all", read=more_than_one, hidden=True),
                Arg("allow_multiple", "replace_all", hidden=True),
                Arg("instruction", None, hidden=True),
            ),
            example={"file_path": "src/app.ts", "old_string": "a", "new_string": "b"},
        ),
        View(
            "list_files",
            "list_directory",
            (_FOLDER, *_IGNORED[:3]),
            example={"dir_path": "src"},
        ),
        View(
            "find_files",
            "glob",
            (*same("pattern"), _FOLDER, *_IGNORED[2:]),
            defaults={"sort": "mtime"},
            note="Newest files come first.",
            example={"pattern": "**/*.ts", "dir_path": "src"},
        ),
        View(
            "grep",
            "search_file_content",
            (*same("pattern"), _FOLDER, Arg("include", "glob")),
            defaults={"output_mode": "content"},
            note="Finds a regular expression and shows the matching lines.",
            example={"pattern": "function main", "dir_path": "src", "include": "*.ts"},
        ),
        View(
            "run_command",
            "run_shell_command",
            (
                *same("command", "description"),
                Arg("dir_path", "cwd"),
                Arg("is_background", "background"),
            ),
            example={"command": "npm test", "description": "Run the tests", "dir_path": "web"},
        ),
    ),
    # It changes files by replacing text.
    hidden_by_default=frozenset({"apply_patch", "notebook_edit"}),
)
