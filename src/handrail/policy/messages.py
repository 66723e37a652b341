"""Wording of verdicts and problems of modes, guards and denials."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

LIMIT_EXCEEDED: Final = ProblemTemplate(
    "blocked",
    "Guardrail: {what} would be {count}, and {key} allows {limit}",
    hint="stop here and report what is left to do: only the user can raise guardrails.{key}, or "
    "start a new count in a session of another name (`handrail --session NAME`)",
)
LIMIT_UNKNOWN: Final = ProblemTemplate(
    "denied",
    "Guardrail: the {what} that the command changes cannot be counted, and {key} is set",
    hint="change files with the file tools, which are counted",
)
GIT_SAFETY: Final = ProblemTemplate(
    "denied",
    "Guardrail: {reason}",
    hint="do it another way, or leave it to the user, who is asked each time",
)
UNTESTED_CHANGES: Final = ProblemTemplate(
    "denied",
    "Guardrail: {files} untested, and require_test_after_edit is set",
    hint="run the tests as a command of their own (no pipe, nothing after them)",
)
BLOCKED_COMMAND: Final = ProblemTemplate(
    "blocked",
    "Guardrail: {part!r} matches the blocked_commands pattern {pattern!r}",
    hint="do not retry; only the user can change {place}",
)
POSSIBLY_BLOCKED_COMMAND: Final = ProblemTemplate(
    "denied",
    "Guardrail: the command cannot be parsed completely and may match the blocked_commands "
    "pattern {pattern!r}",
    hint="write the words of the command plainly",
)
CODE_RULE: Final = ProblemTemplate(
    "blocked",
    "{where}: {line}: {message}",
    hint="write it another way; the rule is in {place}",
)
PLACEHOLDER: Final = ProblemTemplate(
    "blocked",
    "{where}: {line} stands for code that is left out",
    hint="write out the code it stands for, or change only the lines that differ",
)
INVALID_SETTING: Final = ProblemTemplate("invalid_arguments", "{place}: guardrails.{key}: {reason}")
INVALID_SETTING_WITH_ADVICE: Final = ProblemTemplate(
    "invalid_arguments", INVALID_SETTING.message, hint="{advice}"
)

# Rules that match a call.
DENIED_BY_RULE: Final = ProblemTemplate(
    "denied",
    '{action} is denied by the rule "{rule}"',
    hint="do not retry; only the user can change the rule in {origin}",
)
APPROVAL_BY_RULE: Final = ProblemTemplate(
    "denied",
    '{action} needs approval because of the rule "{rule}"',
    hint="the user is asked each time; the rule is in {origin}",
)
TREE_DENIED_BY_RULE: Final = ProblemTemplate(
    "denied",
    '{action} everything in {path!r}, which includes paths of the rule "{rule}"',
    hint="do not retry; only the user can change the rule in {origin}",
)
TREE_APPROVAL_BY_RULE: Final = ProblemTemplate(
    "denied",
    '{action} everything in {path!r}, which includes paths of the rule "{rule}"',
    hint="the user is asked each time; the rule is in {origin}",
)
POSSIBLE_RULE_MATCH: Final = ProblemTemplate(
    "denied",
    '{what} may match the rule "{rule}"',
    hint="name the files and programs plainly, or use a file tool",
)
UNKNOWN_EFFECTS: Final = ProblemTemplate(
    "denied",
    'it is unknown which files the command reads and writes, and the rule "{rule}" applies',
    hint="a user can approve it; a rule about one folder or file (`migrations/**`, `./uv.lock`) "
    "is enforced by the sandbox without asking, one that can match anywhere (`*.lock`) is not",
)
UNKNOWN_EFFECTS_HIDEABLE: Final = ProblemTemplate(
    "denied",
    UNKNOWN_EFFECTS.message,
    hint="a user can approve it; where bubblewrap confines commands, paths that no call may read "
    "are hidden from commands, and no approval is needed",
)
UNKNOWN_EFFECTS_PROTECTABLE: Final = ProblemTemplate(
    "denied",
    UNKNOWN_EFFECTS.message,
    hint="a user can approve it; where bubblewrap confines commands and the path of the rule "
    "exists, the path is read-only for commands, and no approval is needed",
)
UNKNOWN_EFFECTS_MISSING_PATH: Final = ProblemTemplate(
    "denied",
    UNKNOWN_EFFECTS.message + "; {missing!r} does not exist, and the sandbox can only keep an "
    "existing path read-only",
    hint="a user can approve it; once {missing!r} exists, it is read-only for commands, and no "
    "approval is needed",
)

# Rules that cannot be used.
INVALID_RULE: Final = ProblemTemplate(
    "invalid_arguments", "the rule {rule} in {origin} cannot be used: {reason}", hint="{advice}"
)
RULE_SYNTAX: Final = (
    "write it as tool or tool(pattern), such as edit_file(src/**) or run_command(ls:*)"
)
FAILED_EXAMPLE: Final = ProblemTemplate(
    "invalid_arguments",
    "the rule {rule!r} in {origin} cannot be used: {reason}",
    hint="fix the rule or the example",
)
MISSPELLED_TOOL: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no tool named {name!r}; did you mean {suggestion!r}?",
    hint="for a tool of your own named {name!r}, open with tools=[…]",
)
MCP_ALIAS_IN_RULE: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no tool named {name!r}",
    hint="rules name the tools of MCP servers in full: mcp__SERVER__TOOL or mcp__SERVER__*",
)

NEEDS_APPROVAL: Final = ProblemTemplate(
    "needs_approval",
    "{tool} needs approval, and no approver is available. Reason: {reason}",
    hint="{ways}",
)
ANNOUNCED_BY_PLAN: Final = "the approved plan announced, in the model's words: {prompts}"
NO_APPROVER_HINT: Final = "run where a user can approve it (give an approver)"
INVALID_APPROVER: Final = ProblemTemplate(
    "invalid_arguments",
    "the approver is {given!r}, which can be neither asked nor called",
    hint="give a function that takes the request and returns True or False, or "
    '"terminal" or "approvals"',
)
NO_APPROVERS: Final = ProblemTemplate(
    "invalid_arguments", "the list of approvers is empty", hint="give None for no approver"
)
NOBODY_ANSWERS_QUESTIONS: Final = ProblemTemplate(
    "needs_answer", "none of the approvers passes on questions of models"
)
INVALID_APPROVER_REPLY: Final = ProblemTemplate(
    "denied",
    "the approver returned {given}, which counts as no",
    hint="this is a defect in the program around the tools: an approver returns True, False or "
    "an Answer",
)
GRANT_TOO_BROAD: Final = ProblemTemplate(
    "denied",
    "{rule!r} cannot be granted: {reason}",
    hint="allow this one call, or grant something narrower",
)
GRANT_WITHOUT_EFFECT: Final = ProblemTemplate(
    "invalid_arguments",
    "{rule!r} cannot be granted: {reason}",
    hint="grant {tool} without a pattern, or allow this one call",
)
GRANT_BELOW_RULE: Final = ProblemTemplate(
    "denied",
    '{rule!r} cannot be granted: the rule "{stricter}" in {origin} overrides every grant',
    hint="change that rule in the settings",
)
GRANT_BY_FOREIGN_TOOL: Final = ProblemTemplate(
    "denied",
    "only built-in tools may grant {tool}({pattern})",
    hint="the user can grant it instead",
)

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
STATE_EFFECTS: Final = (
    "a tool of your own that only computes is declared @handrail.tool(effects=handrail.Effects.PURE); others "
    "state their effects, or have path parameters"
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
    hint="the user can allow it with the setting allow_protected = [{path!r}]",
)
PROTECTED_HANDRAIL_PATH: Final = ProblemTemplate(
    "protected", "{path!r} is protected: it belongs to Handrail itself"
)
INSTRUCTION_FILE: Final = ProblemTemplate(
    "denied",
    "{path!r}: {reason}",
    hint="the user can allow it with the setting allow_protected = [{path!r}]",
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
NO_SUCH_PROFILE: Final = ProblemTemplate(
    "invalid_arguments", "there is no agent profile {profile!r}", hint="profiles: {names}"
)
OWN_PARENT: Final = ProblemTemplate(
    "invalid_arguments", "the agent {agent!r} cannot be its own parent"
)
INVALID_AGENT_SETTING: Final = ProblemTemplate(
    "invalid_arguments", "{place}: {key} {reason}", hint="{advice}"
)
