"""Notices that a record has grown: from its files, or from notifications of the server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.core.names.store_location import is_store_url

if TYPE_CHECKING:
    from handrail.store.postgres.listener import ChannelListener


class ChangeWatcher:
    """Watches one store. For a URL it holds a connection until `close`."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._listener: ChannelListener | None = None
        self._changes = 0

    def stamp(self) -> tuple[int, ...]:
        """Return values that differ after every write to the record; () without a record."""
        if is_store_url(self._location):
            self._wait_notification(0)
            return (self._changes,)
        found = []
        for name in (self._location, f"{self._location}-wal"):
            try:
                info = Path(name).stat()
            except OSError:
                continue
            found += [info.st_size, info.st_mtime_ns]
        return tuple(found)

    def wait(self, timeout_s: float) -> None:
        """Wait for a change, at most this long."""
        if is_store_url(self._location):
            self._wait_notification(timeout_s)
        else:
            time.sleep(timeout_s)

    def close(self) -> None:
        """Close the connection to the store."""
        if self._listener is not None:
            self._listener.close()

    def _wait_notification(self, timeout_s: float) -> None:
        if self._listener is None:
            from handrail.store.postgres.database import ROWS_CHANNEL
            from handrail.store.postgres.listener import ChannelListener

            self._listener = ChannelListener(self._location, ROWS_CHANNEL)
            self._changes += 1
        elif self._listener.wait(timeout_s):
            self._changes += 1
