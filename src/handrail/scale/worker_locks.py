"""Locks of workers in the state directory, which machines may share: which workers are alive, and
which of them works on a task. The kernel releases the locks of a process that ends.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from handrail.host.state.identities import note_ended, this_process
from handrail.scale import messages

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_MAX_NAME: Final = 4096
# A worker that the fleet cannot reach ends by itself, or ends its task, within minutes.
_PATIENCE_S: Final = 600.0
_PAUSE_S: Final = 0.2


class WorkerPresence:
    """Shows that this process is alive, by a locked file with its name, and finds out which workers
    of other machines have ended.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self._known: set[str] = set()
        own = sha256(this_process().encode()).hexdigest()[:16]
        self._handle = os.open(directory / own, _FLAGS, 0o600)
        # Locked before it gets its name: a named file without a lock belongs to a dead process.
        fcntl.flock(self._handle, fcntl.LOCK_SH)
        os.pwrite(self._handle, this_process().encode(), 0)

    def note_ended_workers(self) -> None:
        """Tell `may_still_run` which workers have ended."""
        for path in self._directory.iterdir():
            if path.name not in self._known:
                self._check_worker(path)

    def close(self) -> None:
        """Release the lock, because this process works no more; may be called twice."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def _check_worker(self, path: Path) -> None:
        try:
            handle = os.open(path, _FLAGS & ~os.O_CREAT)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            process = os.pread(handle, _MAX_NAME, 0).decode("utf-8", "replace")
        except BlockingIOError:
            return
        finally:
            os.close(handle)
        if process:
            self._known.add(path.name)
            note_ended(process)


@asynccontextmanager
async def hold_task(path: Path) -> AsyncIterator[None]:
    """Hold the lock of a task, as its only worker. Waits for a worker that the fleet has lost and
    that still works; raises `unavailable` if that takes too long.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, _FLAGS, 0o600)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise messages.TASK_HELD.error()
            await asyncio.sleep(_PAUSE_S)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
