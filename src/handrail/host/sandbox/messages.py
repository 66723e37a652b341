"""The wording of problems of the sandbox."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

BACKEND_FAILED: Final = ProblemTemplate(
    "unavailable",
    "the sandbox {forced!r} does not work here: {reason}",
    hint="set sandbox to 'auto', or install what is missing; see `handrail doctor`",
)
HIDDEN_PATH_MOVED: Final = ProblemTemplate(
    "stale",
    "{path!r} must be hidden from the command, and was moved or replaced meanwhile",
    hint="call it again",
    retryable=True,
)
NO_TEMP_DIRECTORY: Final = ProblemTemplate(
    "unavailable",
    "no temporary directory for commands could be created: {reason}",
)
UNKNOWN_BACKEND: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no sandbox {backend!r}",
    hint="sandbox is one of: auto, {names}",
)
# Shown by `handrail doctor`.
NO_LISTENER: Final = (
    "not available: commands cannot change modes, owners, times and attributes of files, and have no"
    " /dev/shm (the kernel refuses a second seccomp listener)"
)
