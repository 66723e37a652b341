"""The ids and turn numbers of one session's calls."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class CallIds:
    """Gives out what calls are known by. `on_turn` is called as each new turn begins."""

    def __init__(self, prefix: str, first_turn: int, on_turn: Callable[[], None]) -> None:
        # Ids of our own must be new even where a named session goes on in another process.
        self._prefix = prefix
        self._ids = itertools.count(1)
        self._turns = itertools.count(first_turn)
        self._turn: ContextVar[int | None] = ContextVar("handrail_turn", default=None)
        self._on_turn = on_turn

    def fresh_id(self) -> str:
        """An id that no call has."""
        return f"{self._prefix}.{next(self._ids)}"

    def repeated_id(self, given: str) -> str:
        """A name of its own for a call whose id belongs to an earlier one."""
        return f"{given}#{self.fresh_id()}"

    def turn(self) -> int:
        """The turn that a call made here belongs to: the one it is inside of, or a new one."""
        current = self._turn.get()
        return current if current is not None else self._new_turn()

    @contextmanager
    def same_turn(self) -> Iterator[int]:
        """One turn for all calls made inside; follows the calling thread or task."""
        number = self._new_turn()
        token = self._turn.set(number)
        try:
            yield number
        finally:
            self._turn.reset(token)

    def _new_turn(self) -> int:
        self._on_turn()
        return next(self._turns)
