"""Wording of guardrail verdicts and of invalid guardrail settings."""

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
