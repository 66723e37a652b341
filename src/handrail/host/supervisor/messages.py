"""The wording of problems of starting and supervising programs."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

DIRECTORY_NOT_ENTERED: Final = ProblemTemplate(
    "unavailable",
    "the directory {cwd!r} cannot be entered: {reason}",
    hint="start in another directory",
)
JOB_OVER: Final = ProblemTemplate(
    "conflict",
    "job {number!r} has already ended: {state}",
)
LOCK_NOT_CREATED: Final = ProblemTemplate(
    "unavailable",
    "the lock file of a program could not be created in {path}: {reason}",
)
NO_INTERPRETER: Final = ProblemTemplate(
    "unavailable",
    "{interpreter!r} is not a Python interpreter, so no helper can be started",
    hint="run Handrail from an ordinary Python interpreter",
)
PLATFORM_UNSUPPORTED: Final = ProblemTemplate(
    "unavailable",
    "programs can only be run on Linux with process handles (kernel 5.4 or later)",
    hint="work with the file tools, or run Handrail inside a Linux container",
)
PROGRAM_NOT_STARTED: Final = ProblemTemplate(
    "unavailable",
    "{program!r} could not be started: {reason}",
)
RUNTIME_CLOSED: Final = ProblemTemplate(
    "unavailable",
    "the runtime is closed: nothing can be started",
)
SUPERVISOR_NOT_STARTED: Final = ProblemTemplate(
    "unavailable",
    "no helper process could be started: {reason}",
)
NO_SUCH_JOB: Final = ProblemTemplate("not_found", "there is no job {number!r}", hint="{hint}")
RUNNER_LOST: Final = ProblemTemplate(
    "unavailable",
    "the helper process that supervised the program was killed, and the program with it{details}",
    hint="check what the program has done before you run it again",
)

# Why a command's connection was refused.
HOST_NOT_LISTED: Final = "not in the list of allowed hosts"
HOST_NOT_RESOLVED: Final = "its name cannot be resolved ({error})"
HOST_IS_LOCAL: Final = "its address belongs to this machine or its network"
HOST_NOT_REACHED: Final = "it cannot be reached"
ONLY_PROXY: Final = "only the proxy can be reached, see HTTPS_PROXY"
