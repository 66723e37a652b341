"""Waits for notifications that other processes send with NOTIFY."""

from __future__ import annotations

import time

from handrail.core.problems import ProblemRaised
from handrail.store.postgres.server_connection import PostgresConnection, load_driver
from handrail.store.postgres.server_errors import LostConnection

_PAUSE_S = 0.2


class ChannelListener:
    """Listens on one channel with a connection of its own, restored when it was lost. Raises
    `store_unavailable` if the server cannot be reached at first.
    """

    def __init__(self, url: str, channel: str) -> None:
        self._url = url
        self._channel = channel
        self._connection = self._listen()
        self._driver = load_driver(self._connection.location)

    def wait(self, timeout_s: float) -> bool:
        """Return whether there was a notification; wait at most this long. Returns True after a
        lost connection, because notifications may have been missed.
        """
        if not self._connection.is_open:
            return self._restore(timeout_s)
        try:
            found = list(self._connection.connection.notifies(timeout=timeout_s, stop_after=1))
            # Further notifications in the queue mean the same.
            found += self._connection.connection.notifies(timeout=0)
        except self._driver.Error:
            self._connection.close()
            return True
        return bool(found)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _restore(self, timeout_s: float) -> bool:
        try:
            self._connection = self._listen()
        except ProblemRaised:
            time.sleep(min(timeout_s, _PAUSE_S))
            return False
        return True

    def _listen(self) -> PostgresConnection:
        connection = PostgresConnection(self._url, timeout_s=5)
        try:
            connection.run(f"LISTEN {self._channel}")
        except LostConnection:
            connection.close()
            raise
        return connection
