"""Resolves links in a path, also while another process exchanges names."""

from __future__ import annotations

import os
from typing import Final

from handrail.host.files.messages import LINKS_KEEP_CHANGING

_TRIES: Final = 100


def real_path(path: str | os.PathLike[str]) -> str:
    """The path with all links followed; missing parts are kept as they are. Raises `stale` if a
    name on the way keeps being exchanged.

    `os.path.realpath` itself raises OSError if a link is replaced between its stat and readlink.
    """
    for _ in range(_TRIES):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
    raise LINKS_KEEP_CHANGING.error(path=os.fspath(path))
