"""Resolves the programs and paths of commands on disk.

Programs are searched only along the PATH that the command will have.
"""

from __future__ import annotations

import os
import stat

from handrail.host.files.roots import real_path


def find_program(name: str, search_path: str) -> str | None:
    """Return the resolved path of the program that a shell would start; None if there is none.

    An empty or relative PATH entry means the current directory, which is not known in advance, so a
    program found only there counts as not found.
    """
    if not name or "/" in name or "\0" in name:
        return None
    # Each directory once: the same directory often occurs several times in a PATH.
    for folder in dict.fromkeys(search_path.split(os.pathsep)):
        if folder.startswith("/"):
            candidate = f"{folder}/{name}"
            if _is_program(candidate):
                return resolve(candidate)
    return None


def resolve(path: str) -> str:
    """Return an absolute path with links followed; missing parts stay as they are."""
    return real_path(path)


def _is_program(path: str) -> bool:
    try:
        # `access` comes first: it raises no exception, and most directories lack the program.
        if not os.access(path, os.X_OK):
            return False
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - on the way of every command
    except (OSError, ValueError):
        return False
