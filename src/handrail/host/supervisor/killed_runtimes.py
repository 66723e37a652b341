"""Waits for orphans: programs that outlived their killed runtime and may still write.

A supervisor locks a file named after its runtime, and every runner inherits the lock: the kernel
releases it when the last of them ends. Kept jobs do not hold the lock.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.host.state.identities import may_still_run, this_process

_log = logging.getLogger("handrail")
_FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
# A process tree gets half a second after SIGTERM; then killing it takes at most five seconds.
_ENDING_S: Final = 8.0
_ROUND_S: Final = 0.01


def runtime_lock_path(directory: Path) -> Path:
    """Return the lock file of this process's supervisor; creates its directory. Raises OSError."""
    place = _lock_directory(directory)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place / this_process().replace("/", "+")


async def wait_for_killed_runtimes(directory: Path) -> None:
    """Wait until the programs of every killed runtime have ended, for a limited time."""
    try:
        lock_files = sorted(_lock_directory(directory).iterdir())
    except OSError:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(_ENDING_S):
            for lock_file in lock_files:
                if may_still_run("/".join(lock_file.name.rsplit("+", 3))):
                    continue
                while not _is_released(lock_file):  # noqa: ASYNC110 - a free lock causes no event
                    await asyncio.sleep(_ROUND_S)
        return
    _log.warning("programs of a runtime that was killed are still running; see `handrail jobs`")


def _is_released(lock_file: Path) -> bool:
    """Return whether the lock is free; if so, remove the file."""
    with suppress(OSError):
        handle = os.open(lock_file, _FLAGS)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock_file.unlink()
        except BlockingIOError:
            return False
        finally:
            os.close(handle)
    return True


def _lock_directory(directory: Path) -> Path:
    return directory / "running"
