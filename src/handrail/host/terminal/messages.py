"""The wording of problems of the approval queue."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

ALREADY_ANSWERED: Final = ProblemTemplate(
    "conflict",
    "{id} has been answered already",
)
AMBIGUOUS_ID: Final = ProblemTemplate(
    "ambiguous",
    "{count} questions begin with {name!r}",
    hint="give more of the id",
)
NO_LONGER_ASKED: Final = ProblemTemplate(
    "not_found",
    "{id} is no longer pending",
    hint="see `handrail approvals`",
)
NO_NARROW_RULE: Final = ProblemTemplate(
    "invalid_arguments",
    "no rule is narrow enough to allow {id} always",
    hint="`handrail approvals yes {id}` allows it once",
)
NO_SUCH_APPROVAL: Final = ProblemTemplate(
    "not_found",
    "no pending question has the id {name!r}",
    hint="`handrail approvals` lists the pending ones; a changed call is asked again with a new id",
)
