"""A value that is built when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Lazy(Generic[_T]):
    """Calls `build` once, on the first use by any thread; if `build` raises, the next use calls it
    again.
    """

    __slots__ = ("_build", "_lock", "built", "value")

    # Built by `__getattr__` on the first use; a plain attribute afterwards.
    value: _T

    def __init__(self, build: Callable[[], _T]) -> None:
        self._build = build
        self._lock = RLock()
        # The value if it has been built, else None.
        self.built: _T | None = None

    def __getattr__(self, name: str) -> _T:
        """Build the value; called only while the attribute `value` is not set."""
        if name != "value":
            raise AttributeError(name)
        with self._lock:
            if self.built is None:
                self.built = self._build()
            self.value = self.built
            return self.built
