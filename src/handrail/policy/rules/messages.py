"""Wording of rule matches, and of rules that cannot be used."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

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
