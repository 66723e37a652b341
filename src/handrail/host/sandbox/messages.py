"""The wording of problems of the sandbox."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

BACKEND_FAILED: Final = ProblemTemplate(
    "unavailable",
    "the sandbox {forced!r} does not work here: {reason}",
    hint="set sandbox to 'auto', or mend what is missing; `handrail doctor` tells more",
)
HIDDEN_PATH_MOVED: Final = ProblemTemplate(
    "stale",
    "{path!r} must be hidden from the command, and was moved or replaced meanwhile",
    hint="call it again",
    retryable=True,
)
NO_TEMP_DIRECTORY: Final = ProblemTemplate(
    "unavailable",
    "commands get no temporary directory: {reason}",
)
UNKNOWN_BACKEND: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no sandbox {backend!r}",
    hint="sandbox is one of: auto, {names}",
)
