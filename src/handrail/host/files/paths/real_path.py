"""Where a path leads, also while another process exchanges names on its way."""

from __future__ import annotations

import os
from typing import Final

from handrail.host.files.messages import LINKS_KEEP_CHANGING

_TRIES: Final = 100


def real_path(path: str | os.PathLike[str]) -> str:
    """The path with all links followed; what is missing is kept as it is. Raises `stale` if a
    name on the way keeps being exchanged.

    `os.path.realpath` itself raises OSError if a link is replaced by something else between its
    look at the link and the reading of it.
    """
    for _ in range(_TRIES):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
    raise LINKS_KEEP_CHANGING.error(path=os.fspath(path))
