"""What the operating system says about a path that the call itself named: the caller's matter,
and no defect of the tool that opened it.
"""

from __future__ import annotations

import errno
from typing import Final

from handrail.core.problems import Code, Problem
from handrail.engine.prepare.preparer import PreparedCall

_CODES: Final[dict[int | None, Code]] = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_found",
    errno.EISDIR: "not_text",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
}


def problem_from_oserror(prepared: PreparedCall, error: BaseException) -> Problem | None:
    """The problem of a tool's OSError about one of the call's own paths; None for any other."""
    if not isinstance(error, OSError) or error.errno not in _CODES:
        return None
    for name, place in prepared.places.items():
        if error.filename in (place.absolute, place.path, place.rel, prepared.arguments.get(name)):
            said = (error.strerror or "it cannot be opened").lower()
            return Problem(_CODES[error.errno], f"{place.path!r}: {said}", field=name)
    return None
