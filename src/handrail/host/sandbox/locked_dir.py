"""A temporary folder that is locked from the moment it has its name.

Whoever finds such a folder without a lock may remove it: its owner is gone. So a folder that is
new must not be found before it is locked.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

# In front of the name until the folder is locked.
UNLOCKED: Final = "handrail-unlocked-"
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LockedDirectory(NamedTuple):
    """A folder, and the handle that holds its lock until it is closed."""

    path: Path
    handle: int


def create_locked_directory(prefix: str) -> LockedDirectory:
    """A new folder among the temporary files, its name beginning so; raises OSError."""
    made = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{UNLOCKED}{prefix}")))
    handle = os.open(made, _OPEN)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return LockedDirectory(
            made.rename(made.with_name(made.name.removeprefix(UNLOCKED))), handle
        )
    except OSError:
        os.close(handle)
        raise
