"""A second connection that only reads: for what every change asks before it begins.

It answers in the thread that asks, without the way through the writer, and sees whatever any
process has committed by then. Where it cannot answer it says so, and the writer is asked.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

from handrail.core.leases import Lease
from handrail.store import leases
from handrail.store.connect import MEMORY


class Reader:
    """Opened when it is first asked; shared by all threads of the process that made it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._closed = path == MEMORY

    def leases(self, now_ns: int) -> list[Lease] | None:
        """What holds now; None: ask the writer. Waits for nobody."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if self._closed:
                return None
            if self._db is None:
                self._db = self._open()
            return leases.active(self._db, now_ns)
        except sqlite3.Error:
            # Locked, damaged or gone: the writer knows how to wait, and what to say.
            return None
        finally:
            self._lock.release()

    def close(self) -> None:
        """Let go of the file; from now on it answers nothing."""
        with self._lock:
            self._closed = True
            db, self._db = self._db, None
            if db is not None:
                with contextlib.suppress(sqlite3.Error):
                    db.close()

    def _open(self) -> sqlite3.Connection:
        address = f"{Path(self._path).as_uri()}?mode=ro"
        return sqlite3.connect(
            address, uri=True, timeout=0, isolation_level=None, check_same_thread=False
        )
