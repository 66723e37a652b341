"""The wording of problems with skills."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

CHANGED_SKILL: Final = ProblemTemplate(
    "untrusted",
    "the files of the skill {name!r} have changed since its tools were loaded",
    hint="the user can review it with `handrail skills trust {name}` and start again",
)
INVALID_VALUE: Final = ProblemTemplate("invalid_arguments", "{reason}", hint="give another value")
NO_SUCH_SKILL: Final = ProblemTemplate(
    "not_found", "there is no skill {name!r}", hint="skills: {names}"
)
NOT_FOR_THIS_CALLER: Final = ProblemTemplate(
    "denied", "the skill {name!r} may not be loaded this way", hint="its SKILL.md says so"
)
UNTRUSTED_SKILL: Final = ProblemTemplate(
    "untrusted",
    "the user does not trust the skill {name!r} of this project in its present form",
    hint="the user can review it with `handrail skills trust {name}`",
)
UNUSABLE_SKILL: Final = ProblemTemplate(
    "untrusted", "the skill {name!r} cannot be used: {reason}", hint="see `handrail skills`"
)
