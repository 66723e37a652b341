"""The wording of problems of the state directory."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

ARTIFACT_GONE: Final = ProblemTemplate(
    "not_found",
    "there is no artifact {reference!r}",
    hint="old artifacts are removed to make room; run the call again",
)
ARTIFACT_NOT_KEPT: Final = ProblemTemplate(
    "unavailable",
    "{name!r} could not be kept: {reason}",
)
ARTIFACT_TOO_LARGE: Final = ProblemTemplate(
    "too_large",
    "{count} bytes are too many to keep",
)
BLOB_DAMAGED: Final = ProblemTemplate(
    "not_found",
    "the content kept as {digest} is damaged",
)
BLOB_MISSING: Final = ProblemTemplate(
    "not_found",
    "no content with hash {digest} is kept",
)
BLOB_NOT_KEPT: Final = ProblemTemplate(
    "unavailable",
    "the old content could not be kept in {directory!r}: {reason}",
    hint="free some space, or run with journal=false and do without undo",
)
LOCKS_UNAVAILABLE: Final = ProblemTemplate(
    "unavailable",
    "files cannot be locked in {directory!r}: {reason}",
    hint="check that this directory exists and can be written",
)
STATE_UNTRUSTED: Final = ProblemTemplate(
    "unavailable",
    "Handrail cannot keep its state in {path!r}: {reason}",
    hint="set XDG_STATE_HOME or store= to a directory of your own, or use store=':memory:'",
)
BLOB_UNREADABLE: Final = ProblemTemplate(
    "unavailable",
    "the disk could not read the old content kept in {path!r}: {reason}",
    hint="check the disk, then call again",
)
