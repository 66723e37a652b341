"""The wording of problems that the machine causes."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

ROOT_REPLACED: Final = ProblemTemplate(
    "outside_workspace",
    "{path!r} is no longer the directory that was opened: it was moved, or something "
    "else was put or mounted in its place, so no command is run there",
    hint="move it back, or open the workspace again at its new path",
)
READ_DENIED: Final = ProblemTemplate(
    "denied",
    "{path!r} is denied by a rule",
    hint="leave it; only the user can change the rule",
)
