"""Caches decoded, counted and hashed files. An entry is valid while the bytes are equal, which are
read and compared each time: time stamps prove less.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from handrail.core.places import Place
from handrail.core.ports.machine import Window

ROOM: Final = 5 << 20
KEPT_S: Final = 300.0
_Key = tuple[int, str, int, int]


class _CachedWindow(NamedTuple):
    data: bytes
    window: Window
    since: float


class WindowCache:
    """The windows shown last in one runtime; paths that are `secret` are not cached."""

    def __init__(
        self,
        secret: Callable[[str], bool],
        *,
        room: int = ROOM,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._secret = secret
        self._all_room = self._room = room
        self._clock = clock
        self._kept: OrderedDict[_Key, _CachedWindow] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0

    def find(self, place: Place, first: int, count: int, data: bytes) -> Window | None:
        """The window made from equal bytes; None if there is none."""
        key = (place.root, place.rel, first, count)
        kept = self._kept.get(key)
        if kept is None or kept.data != data:
            return None
        with self._lock:
            if self._clock() - kept.since > KEPT_S:
                self._drop(key)
                return None
            if key in self._kept:
                self._kept.move_to_end(key)
            self.hits += 1
        return kept.window

    def keep(self, place: Place, first: int, count: int, data: bytes, window: Window) -> None:
        """Cache a window; the least recently used ones are dropped."""
        # The text is held twice: as bytes and decoded.
        size = 2 * len(data)
        if size > self._all_room // 2 or self._secret(place.rel):
            return
        key = (place.root, place.rel, first, count)
        with self._lock:
            self._drop(key)
            self._kept[key] = _CachedWindow(data, window, self._clock())
            self._room -= size
            while self._room < 0:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._room += 2 * len(kept.data)
