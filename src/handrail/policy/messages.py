"""Wording of verdicts and problems of modes, guards and denials."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

# Modes.
UNKNOWN_MODE: Final = ProblemTemplate(
    "invalid_arguments", "{name!r} is not a mode", hint="use one of: {known}"
)
LEAVE_PLAN_MODE: Final = ProblemTemplate(
    "denied",
    "leaving plan mode needs the user's approval",
    hint="run where an approver is available; the user can also leave plan mode with "
    "`handrail plan`",
)

# Commands.
COMMANDS_OFF: Final = ProblemTemplate(
    "denied",
    "commands are switched off",
    hint="the user can switch them on with the setting `commands`",
)
COMMAND_BLOCKED: Final = ProblemTemplate("blocked", "the command is blocked: {reason}", "{advice}")
COMMAND_NOT_LISTED: Final = ProblemTemplate(
    "denied",
    "only listed commands may run: {reason}",
    hint="`allowed_commands` lists {listed}; write one plain command after the other",
)
COMMAND_TOO_DANGEROUS: Final = ProblemTemplate(
    "denied",
    "the command is {word}, and the setting allowed_only refuses that class: {reason}",
    hint="use a command that only reads, builds or tests, or a file tool; see `handrail explain`",
)

# The sandbox.
SANDBOX_REQUIRED: Final = ProblemTemplate(
    "unavailable",
    "sandbox_require lists {required}, and {reason}",
    hint="see `handrail doctor`; the setting is sandbox_require",
)
SANDBOX_GAP: Final = (
    "the sandbox on this machine does not enforce {properties}, so commands that may change files "
    "need approval in every mode"
)
NO_SANDBOX: Final = (
    "nothing on this machine confines commands, so commands that may change files need approval in "
    "every mode"
)
SANDBOX_REMEDIES: Final = (
    "install bubblewrap (Linux), accept commands without a complete sandbox (accept_no_sandbox = true), or "
    "allow single commands with a rule; see `handrail doctor`"
)
UNCONFINED_COMMAND: Final = ProblemTemplate(
    "denied",
    "the command would run outside the sandbox",
    hint="leave `unconfined` out; the user is asked each time",
)

# Undo.
DELETION_NOT_UNDOABLE: Final = ProblemTemplate(
    "denied",
    "undo could not restore what the call deletes: {files}",
    hint="a user can approve it; a larger shadow_file_mb or shadow_mb keeps larger files, and "
    "files that hold secrets can be copied elsewhere first",
)

# Protected names.
PROTECTED_NAME: Final = ProblemTemplate(
    "protected",
    "{path!r} is protected: {reason}",
    hint="the user can allow it with allow_protected=[{path!r}]",
)
PROTECTED_HANDRAIL_PATH: Final = ProblemTemplate(
    "protected", "{path!r} is protected: it belongs to Handrail itself"
)
INSTRUCTION_FILE: Final = ProblemTemplate(
    "denied",
    "{path!r}: {reason}",
    hint="the user can allow it with allow_protected=[{path!r}]",
)

# Denied paths and commands.
WRITE_DENIAL_NOT_ENFORCEABLE: Final = ProblemTemplate(
    "denied",
    "the sandbox cannot keep {path!r} read-only while the command runs, and the rule "
    '"{rule}" denies writing it',
    hint="call it again, and the user is asked; or name files and programs plainly",
)
READ_DENIAL_NOT_ENFORCEABLE: Final = ProblemTemplate(
    "denied",
    "paths that rules deny reading cannot be hidden from the command: {gap}",
    hint="call it again, and the user is asked; or name files and programs plainly",
)
PATH_LEASED: Final = ProblemTemplate(
    "conflict",
    "the command may write {path!r}, which {owner} has reserved",
    hint="run it when the path is free, or use a command whose writes are known",
    retryable=True,
)
MISSING_PATH_LEASED: Final = ProblemTemplate(
    "conflict",
    "the command may write {path!r}, which {owner} has reserved; the path does not exist, and "
    "only an existing path can be kept read-only meanwhile",
    hint="run it when the path is free, use a command whose writes are known, or create the path",
    retryable=True,
)
INVALID_DENY_PATTERN: Final = ProblemTemplate(
    "invalid_arguments",
    "the path pattern {pattern!r} in {origin} cannot be used: {reason}",
    hint="write it as in a rule, like 'secrets/**' or '*.pem'",
)

# Agents.
OWN_PARENT: Final = ProblemTemplate(
    "invalid_arguments", "the agent {agent!r} cannot be its own parent"
)
INVALID_AGENT_SETTING: Final = ProblemTemplate(
    "invalid_arguments", "{place}: {key} {reason}", hint="{advice}"
)
