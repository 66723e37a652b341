"""Wording of problems with plan mode and its queue."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

NOT_IN_PLAN_MODE: Final = ProblemTemplate(
    "unavailable", "plan mode is not active", hint="continue; there is nothing to leave"
)
NO_PLAN: Final = ProblemTemplate(
    "not_found",
    "there is no plan yet: the plan file is empty",
    hint="write the plan to {path} first",
)
PLAN_CHANGED: Final = ProblemTemplate(
    "stale",
    "the plan changed while the user was reading it; plan mode stays active",
    hint="ask again",
    retryable=True,
)
QUEUE_FULL: Final = ProblemTemplate(
    "denied",
    "{limit} calls are queued already, and plan mode queues no more",
    hint="ask the user to look at the queue, or write the rest into the plan",
)
INVALID_FIRST: Final = ProblemTemplate(
    "invalid_arguments", "first is {first}, which is not a number of calls"
)
IDS_AND_FIRST: Final = ProblemTemplate("invalid_arguments", "give either ids or first, not both")
NO_QUEUED_CALL: Final = ProblemTemplate(
    "not_found", "no queued call is called {name!r}", hint="{ids}"
)
