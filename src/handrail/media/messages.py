"""The wording of problems with pictures, PDF files and notebooks."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

NOT_DECODED: Final = ProblemTemplate(
    "not_text",
    "{name!r} cannot be shown: {reason}",
    hint="give {arg[max_bytes]} to see its first bytes",
)
TOO_LARGE: Final = ProblemTemplate(
    "too_large",
    "{name!r} cannot be shown: {reason}",
    hint="use a smaller version of the file",
)
PAST_THE_END: Final = ProblemTemplate(
    "invalid_arguments",
    "{reason} of {name!r}",
    hint="ask for a part that exists",
)
EXTRA_MISSING: Final = ProblemTemplate(
    "unavailable",
    "showing {name!r} needs the packages Pillow and pypdfium2, which are not installed",
    hint='pip install "handrail[media]"',
)
NOT_SUPPORTED: Final = ProblemTemplate(
    "unavailable",
    "{name!r} cannot be shown: this machine cannot confine the process that decodes it",
    hint="give {arg[max_bytes]} to see its first bytes",
)
