"""The wording of problems that an editor is shown."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

NOT_A_WORKSPACE: Final = ProblemTemplate(
    "invalid_arguments",
    "{path!r} is not a directory that can be a workspace",
    hint="cwd must be the absolute path of an existing directory",
)
UNKNOWN_SESSION: Final = ProblemTemplate(
    "not_found",
    "there is no open session {session!r}",
    hint="create it with session/new, or open a recorded one with session/load",
)
OTHER_WORKSPACE: Final = ProblemTemplate(
    "invalid_arguments", "the session {session!r} belongs to another directory than {path!r}"
)
BUSY: Final = ProblemTemplate(
    "conflict",
    "a prompt is running in session {session!r}",
    hint="wait for its end, or cancel it first",
)
UNKNOWN_MODE: Final = ProblemTemplate(
    "invalid_arguments", "{mode!r} is not a mode; one of: {known}"
)
EMPTY_PROMPT: Final = ProblemTemplate("invalid_arguments", "a prompt needs a text")
UNSUPPORTED_CONTENT: Final = ProblemTemplate(
    "invalid_arguments",
    "a prompt with {kind} content is not supported",
    hint="send text, links to files, or embedded text",
)
REQUEST_FAILED: Final = ProblemTemplate(
    "internal", "the request failed because of a bug in Handrail; its log has more"
)
