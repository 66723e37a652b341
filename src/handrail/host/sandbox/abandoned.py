"""What probes of the sandbox leave on the machine when they are killed: found by its name, its
owner and its age, and removed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

PREFIX: Final = "handrail-probe-"
SHARED: Final = "/dev/shm"  # noqa: S108 - shared memory has no other place
# Much longer than any probe takes: a younger one may be at work.
_OLD_S: Final = 3600


def sweep_probes() -> int:
    """Remove what old probes left; returns how many things there were."""
    return sum(_remove(path) for path in _abandoned())


def _abandoned() -> Iterator[Path]:
    oldest = time.time() - _OLD_S
    for top in (Path(tempfile.gettempdir()), Path(SHARED)):
        for path in top.glob(f"{PREFIX}*"):
            with suppress(OSError):
                info = path.lstat()
                ours = info.st_uid == os.geteuid() and info.st_mtime < oldest
                if ours and (S_ISDIR(info.st_mode) or S_ISREG(info.st_mode)):
                    yield path


def _remove(path: Path) -> bool:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    return not path.exists()
