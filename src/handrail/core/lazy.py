"""A value that is built when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Lazy(Generic[_T]):
    """Calls `build` once, whichever thread asks first; if `build` raises, the next use tries
    again.
    """

    __slots__ = ("_build", "_lock", "built", "value")

    # Built when it is first used; a plain attribute from then on.
    value: _T

    def __init__(self, build: Callable[[], _T]) -> None:
        self._build = build
        self._lock = RLock()
        # The value if it has been used, else None.
        self.built: _T | None = None

    def __getattr__(self, name: str) -> _T:
        """The value, which is not set yet."""
        if name != "value":
            raise AttributeError(name)
        with self._lock:
            if self.built is None:
                self.built = self._build()
            self.value = self.built
            return self.built
