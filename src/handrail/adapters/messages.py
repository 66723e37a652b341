"""The wording of problems of the adapters."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

FRAMEWORK_MISSING: Final = ProblemTemplate(
    "unavailable",
    "this adapter needs {package}, which cannot be imported: {error}",
    hint='pip install "handrail[{extra}]"',
)
NOT_A_RUNTIME: Final = ProblemTemplate(
    "invalid_arguments",
    "an adapter needs an opened runtime, not {given}",
    hint="write `async with handrail.open(...) as rt` or `with handrail.sync.open(...) as rt`, and pass rt",
)
NO_LOOP: Final = ProblemTemplate(
    "invalid_arguments",
    "an adapter of an async runtime is made inside the event loop of the runtime",
    hint="make it in a coroutine, or open the runtime with handrail.sync.open",
)
LOOP_CLOSED: Final = ProblemTemplate(
    "unavailable", "the event loop of this runtime is closed", hint="open a new runtime"
)
WOULD_WAIT_FOR_ITSELF: Final = ProblemTemplate(
    "unavailable",
    "a blocking call was made in the event loop of the runtime: it would wait for itself",
    hint="use the framework's async method, or open the runtime with handrail.sync.open",
)
ASKED_LATER: Final = ProblemTemplate(
    "needs_approval", "the call needs approval, and was not approved yet: {reason}"
)
OTHER_THAN_SHOWN: Final = ProblemTemplate(
    "needs_approval", "the call would do something other than what was approved: {reason}"
)
CONTENT_GONE: Final = ProblemTemplate(
    "unavailable",
    "the content of this call was passed separately from its arguments and is no longer available",
    hint="make the call again from the program that made it",
)
NOT_A_DIRECTORY: Final = ProblemTemplate("invalid_arguments", "{path!r} is not a directory")
NOT_A_FILE: Final = ProblemTemplate("not_text", "{path!r} is not a regular file")
NOTHING_THERE: Final = ProblemTemplate("not_found", "there is no {path!r}")
SOMETHING_THERE: Final = ProblemTemplate("exists", "{path!r} exists and is not a {wanted}")
REMOVAL_OFF: Final = ProblemTemplate(
    "denied",
    "deleting files is switched off (allow_delete=False)",
    hint="the user can switch it on with allow_delete=True",
)
TOO_MUCH_REMOVED: Final = ProblemTemplate(
    "too_large",
    "{path!r} holds too many files or bytes to be removed so that it can be undone",
    hint="remove it in parts",
)
