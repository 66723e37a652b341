"""Where programs and paths really are: the part of a command's surroundings that is on disk.

A program is looked for along the path that the command itself will have, and nowhere else.
"""

from __future__ import annotations

import os
import stat

from handrail.host.files.paths.real_path import real_path


def find_program(name: str, search_path: str) -> str | None:
    """The real path of the program that a shell would start; None if there is none.

    An entry of the path that is empty or relative means the current directory: what stands
    there cannot be known beforehand, so a program found only there is not found.
    """
    if not name or "/" in name or "\0" in name:
        return None
    for folder in search_path.split(os.pathsep):
        if folder.startswith("/"):
            candidate = f"{folder}/{name}"
            if _is_program(candidate):
                return resolve(candidate)
    return None


def resolve(path: str) -> str:
    """Where an absolute path really leads, links followed; what is missing is kept as it is."""
    return real_path(path)


def _is_program(path: str) -> bool:
    try:
        # Access first: it says no without an exception, and most folders do not have it.
        if not os.access(path, os.X_OK):
            return False
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - on the way of every command
    except (OSError, ValueError):
        return False
