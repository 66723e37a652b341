"""The wording of problems with the record of a workspace that is read without a session."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

NO_SUCH_SESSION: Final = ProblemTemplate("not_found", "there is no session {session!r}")
NO_SUCH_CALL: Final = ProblemTemplate("not_found", "there is no call {call!r}")
