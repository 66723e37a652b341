"""Wording of problems with hooks: invalid settings, and calls that hooks block."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

# Calls.
BLOCKED_BY_HOOK: Final = ProblemTemplate("blocked", "{reason}", hint="blocked by the hook {source}")
APPROVAL_BY_HOOK: Final = ProblemTemplate(
    "blocked", "{reason}", hint="approval requested by the hook {source}"
)
HOOK_FAILED: Final = "the hook {name!r} that guards the call failed: {reason}"
ALLOWED_BY_HOOK: Final = "the hook {name!r} allows it"
NO_REWRITE: Final = ProblemTemplate(
    "invalid_arguments", "a hook cannot change the arguments of {tool} here"
)
VARIABLE_TOO_LARGE: Final = ProblemTemplate(
    "too_large", "{name} is too large for the environment of a program"
)
NO_SHELL: Final = ProblemTemplate(
    "unavailable", "hooks cannot be run: bash was not found", hint="install bash"
)

# Settings: the location of the setting is put in front.
NOT_A_LIST: Final = ProblemTemplate(
    "invalid_arguments", "it must be a list of hooks", hint="write [[hooks.<event>]] above each"
)
NOT_A_TABLE: Final = ProblemTemplate("invalid_arguments", "a hook is a table with a command in it")
UNKNOWN_FIELD: Final = ProblemTemplate("invalid_arguments", "there is no such field{suggestion}")
UNKNOWN_EVENT: Final = ProblemTemplate(
    "invalid_arguments", "there is no such event{suggestion}", hint="events: {events}"
)
AGENT_LOOP_EVENT: Final = ProblemTemplate(
    "invalid_arguments", "this event belongs to the agent loop", hint="events: {events}"
)
TOO_MANY_HOOKS: Final = ProblemTemplate("invalid_arguments", "there are more than {limit} hooks")
NOT_TEXT: Final = ProblemTemplate("invalid_arguments", "it must be text")
NOT_TEXTS: Final = ProblemTemplate("invalid_arguments", "it must be a list of texts")
NOT_A_FLAG: Final = ProblemTemplate("invalid_arguments", "it must be true or false")
NOT_SECONDS: Final = ProblemTemplate("invalid_arguments", "it must be a number of seconds")
SECONDS_OUT_OF_RANGE: Final = ProblemTemplate(
    "invalid_arguments", "it must be {least:g} to {most:g} seconds, not {value:g}"
)
NOT_A_FORMAT: Final = ProblemTemplate("invalid_arguments", "it must be own or architect")
NOT_AN_EFFECT: Final = ProblemTemplate("invalid_arguments", "it must be deny, ask or allow")
USER_SETTING_ONLY: Final = ProblemTemplate(
    "invalid_arguments",
    "only your own settings can say this, not the workspace's",
    hint="write the hook into your own configuration file",
)
INVALID_FIELD: Final = ProblemTemplate("invalid_arguments", "{reason}")
EVENT_WITHOUT_TOOL: Final = ProblemTemplate("invalid_arguments", "this event is not about a tool")
UNKNOWN_TOOL: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no tool named {name!r}{suggestion}",
    hint="for a tool that is registered later write a pattern, such as {name}*",
)
CANNOT_STOP_CALL: Final = ProblemTemplate(
    "invalid_arguments", "only a hook that a call waits for can stop it"
)
INVALID_COMMAND: Final = ProblemTemplate("invalid_arguments", "{reason}", hint="{advice}")
FILE_PLACEHOLDER_REFUSED: Final = ProblemTemplate(
    "invalid_arguments",
    "{{file}} cannot stand {where}",
    hint='write "$1" where the file is meant, as an argument of its own',
)
BROKEN_GUARD: Final = ProblemTemplate(
    "invalid_arguments",
    "{source}: the hook {name!r} cannot work: {reason}",
    hint="fix its command, or set enabled = false",
)

# Settings files of Claude Code.
NOT_A_PATH_OR_LIST: Final = ProblemTemplate(
    "invalid_arguments",
    "it is a path, or a list",
    hint="write [[hooks.claude]] for a path with options",
)
FILE_FROM_WORKSPACE: Final = ProblemTemplate(
    "invalid_arguments",
    "only your own settings can name a file of hooks",
    hint="copy the hooks into the workspace's own configuration",
)
NO_HOOKS_TABLE: Final = ProblemTemplate("invalid_arguments", "it has no table of hooks")
RELATIVE_PATH: Final = ProblemTemplate(
    "invalid_arguments", "the path must be absolute, or begin with ~/"
)
WRITABLE_BY_MODEL: Final = ProblemTemplate(
    "invalid_arguments",
    "the model can write {path!r}, so it would choose its own hooks",
    hint="move the file out of the workspace, or into .claude",
)
NO_SUCH_FILE: Final = ProblemTemplate("invalid_arguments", "there is no file {path!r}")
NESTED_TOO_DEEPLY: Final = ProblemTemplate(
    "invalid_arguments", "it is nested deeper than {limit} levels"
)
NOT_JSON: Final = ProblemTemplate("invalid_arguments", "it is not JSON: {reason}")
