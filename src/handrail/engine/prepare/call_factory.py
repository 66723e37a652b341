"""What a caller hands over, as calls that have been prepared."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from handrail.core.call import ToolCall
from handrail.core.call_ids import check_call_id
from handrail.engine.batch.pacing import Pacer
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.preparer import Preparer


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


Call = Mapping[str, Any]

_KEYS: Final = frozenset({"id", "name", "arguments"})


@dataclass(frozen=True, slots=True)
class CallFactory:
    """Makes calls out of what a caller gave."""

    preparer: Preparer
    numbers: CallIds

    def prepare_all(self, calls: Iterable[Call], turn: int, agent: str) -> list[PreparedCall]:
        """Each call, understood; TypeError for what is no list of calls, `invalid_arguments`
        for an id that cannot be used.
        """
        return [self._prepare(call, turn, agent) for call in _checked(calls)]

    async def prepare_paced(
        self, calls: Iterable[Call], turn: int, agent: str, pacer: Pacer
    ) -> list[PreparedCall]:
        """Like `prepare_all`, but yields to the event loop between slices."""
        prepared: list[PreparedCall] = []
        for call in _checked(calls):
            prepared.append(self._prepare(call, turn, agent))
            await pacer.step()
        return prepared

    def _prepare(self, call: Call, turn: int, agent: str) -> PreparedCall:
        made = self.tool_call(call.get("id"), call.get("name"), call.get("arguments"), turn, agent)
        prepared = self.preparer.prepare(made)
        prepared.origin.has_client_id = call.get("id") is not None
        return prepared

    def tool_call(
        self,
        id: Any,
        name: Any,
        arguments: Mapping[str, Any] | str | None,
        turn: int,
        agent: str,
    ) -> ToolCall:
        """One call; without an id of its own it gets a new one. Raises `invalid_arguments` for
        an id that cannot be used.
        """
        call_id = check_call_id(id) if id is not None else self.numbers.fresh_id()
        given = {} if arguments is None else arguments
        return ToolCall(call_id, "" if name is None else str(name), given, turn, agent)


def _checked(calls: Iterable[Call]) -> list[Call]:
    found = list(calls)
    for number, call in enumerate(found, 1):
        _check(call, number)
    return found


def _check(call: object, number: int) -> None:
    """TypeError for what is no call at all, or has its arguments under another name."""
    if not isinstance(call, Mapping):
        wrong = f"is a {type(call).__name__}"
    elif "arguments" not in call and (others := call.keys() - _KEYS):
        lacking = "arguments" if "name" in call else "name"
        wrong = f"has no {lacking}, but {min(map(repr, others))}"
    else:
        return
    raise TypeError(
        'a batch is a list of calls, each {"name": ..., "arguments": {...}}; '
        f"call {number} of this one {wrong}"
    )
