"""The wording of problems of searches."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

BAD_GLOB: Final = ProblemTemplate(
    "invalid_arguments",
    "The glob {given!r} {reason}.",
    hint="put a backslash before a character to match it literally",
)
BAD_GLOB_SET: Final = ProblemTemplate(
    "invalid_arguments",
    "One of the globs {globs!r} has a character set that cannot be read: {reason}.",
    hint="write a set like [a-z]",
)
BAD_PATTERN: Final = ProblemTemplate(
    "invalid_arguments",
    "The pattern {pattern} {reason}.",
)
BINARY_NOT_SEARCHED: Final = ProblemTemplate(
    "not_text",
    "{path!r} is binary; only text is searched.",
    hint="{tool_name[read_file]} can show some of its bytes",
)
EMPTY_GLOB: Final = ProblemTemplate(
    "invalid_arguments",
    "The glob {given!r} is empty or contains a NUL.",
    hint="write it like '*.py' or 'src/**/*.ts'",
)
GLOB_LEAVES_PATH: Final = ProblemTemplate(
    "outside_workspace",
    "The glob {given!r} leads out of {path!r}.",
    hint="write it relative to the searched path, like 'src/**/*.py'; to search elsewhere "
    "give that directory as the path",
)
NOTHING_TO_SEARCH: Final = ProblemTemplate(
    "not_found",
    "There is no {path!r} to search.",
    hint="list its parent directory to see what is there",
)
NOT_SEARCHABLE: Final = ProblemTemplate(
    "not_text",
    "{path!r} is neither a file nor a directory.",
    hint="search the directory it is in",
)
RIPGREP_FAILED: Final = ProblemTemplate(
    "unavailable",
    "ripgrep ({binary!r}) could not be started: {reason}.",
    hint="`handrail doctor` shows which programs are found",
)
NOT_A_REGULAR_EXPRESSION: Final = ProblemTemplate(
    "invalid_arguments",
    "The pattern {pattern} is not a regular expression: {reason}.",
    hint="{hint}",
)
UNKNOWN_FILE_TYPE: Final = ProblemTemplate(
    "invalid_arguments", "There is no file type {name!r}.", hint="{hint}"
)
