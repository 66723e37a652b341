"""The wording of problems that the page reports."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

NO_SUCH_QUESTION: Final = ProblemTemplate(
    "not_found", "the question {id!r} is no longer open", hint="load the page again"
)
UNKNOWN_ANSWER: Final = ProblemTemplate("invalid_arguments", "{answer!r} is not an answer")
NO_ANSWERS: Final = ProblemTemplate(
    "invalid_arguments", "every question needs an answer: an option, or your own words"
)
EMPTY_TASK: Final = ProblemTemplate("invalid_arguments", "a task needs a text")
NOT_A_TURN: Final = ProblemTemplate("invalid_arguments", "{turn!r} is not the number of a turn")
BUSY: Final = ProblemTemplate(
    "conflict",
    "a task is running in session {session!r}",
    hint="wait for its end, or interrupt it first",
)
TASK_FAILED: Final = ProblemTemplate(
    "internal", "the task failed because of a bug in Handrail; the log of `handrail ui` has more"
)
TOO_MANY_TASKS: Final = ProblemTemplate(
    "unavailable",
    "{count} tasks are running in this page already",
    hint="wait for one of them, or interrupt it",
    retryable=True,
)
