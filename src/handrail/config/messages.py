"""The wording of problems with settings."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

# Left out by that command.
CHECK_IT: Final = "; `handrail config check FILE` checks it"

INVALID_FILE: Final = ProblemTemplate(
    "invalid_arguments",
    "the configuration {location} is not valid: {reason}",
    hint=f"fix the file or move it elsewhere{CHECK_IT}",
)
UNREADABLE_FILE: Final = ProblemTemplate(
    "invalid_arguments",
    "the configuration {path!r} cannot be read: {reason}",
    hint="fix the file or move it elsewhere",
)
TWO_FILES: Final = ProblemTemplate(
    "invalid_arguments",
    "{root!r} has both {first} and {second}",
    hint="put all settings into one of them and remove the other",
)
LINK_OUT_OF_WORKSPACE: Final = ProblemTemplate(
    "outside_workspace",
    "the configuration {path!r} is a symbolic link that leaves the workspace",
    hint="remove the link; put your own settings into your user configuration",
)
INVALID_SETTINGS: Final = ProblemTemplate(
    "invalid_arguments",
    "invalid settings: {faults}",
    hint="`handrail config show` lists every setting and its value",
)
INVALID_SETTINGS_FILE: Final = ProblemTemplate(
    "invalid_arguments",
    "invalid settings: {faults}",
    hint=f"fix the file{CHECK_IT}",
)
DIFFERENT_TYPES: Final = ProblemTemplate(
    "invalid_arguments",
    "{source}: {key} is {new}, but {base} in another file",
    hint="use the same type in both files",
)
TRUST_NOT_WRITABLE: Final = ProblemTemplate(
    "unavailable",
    "cannot change the trust records in {folder!r}: {error}",
    hint="`handrail doctor` reports on the state directory",
)
SERVER_EXISTS: Final = ProblemTemplate(
    "exists",
    "{path!r} already names an MCP server {server!r}",
    hint="`handrail mcp remove {server}` removes it",
)
SERVER_NOT_NAMED: Final = ProblemTemplate(
    "not_found",
    "{path!r} names no MCP server {server!r}",
    hint="`handrail mcp list` shows the servers and where they come from",
)
EDIT_NEEDS_TOML: Final = ProblemTemplate(
    "invalid_arguments",
    "{path!r} is not changed: only TOML files are",
    hint="edit the file yourself; `handrail config check FILE` checks it",
)
NOT_EDITED: Final = ProblemTemplate(
    "unavailable",
    "the settings file {path!r} was not changed: {reason}",
    hint="edit the file yourself; `handrail config check FILE` checks it",
)
