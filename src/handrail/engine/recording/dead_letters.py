"""Which failures become dead letters, and trying one again: as a new call, with everything
checked that any call is checked for. Refusals and the model's own mistakes are none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from handrail.core.context import Session
from handrail.core.dead_letters import (
    DeadLetter,
    DeadLetterStore,
    LetterMove,
    LetterState,
    NewLetter,
)
from handrail.core.problems import ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.engine import messages
from handrail.engine.call_state import CallState

_log = logging.getLogger("handrail")
RETRY_S: Final = 60.0
MOST_ATTEMPTS: Final = 5

# The letter that is being tried again here: that it fails once more makes no second letter.
_retried: ContextVar[DeadLetter | None] = ContextVar("handrail_letter", default=None)


class MakesCalls(Protocol):
    """How a call is made anew; `Runtime.call`."""

    async def __call__(self, name: str, arguments: Any, /, *, agent: str) -> ToolResult:
        """Run one tool through the whole pipeline."""


class _Refusal(NamedTuple):
    why: str
    hint: str


def is_dead(state: CallState, result: ToolResult) -> bool:
    """True for internal errors, exhausted retries, and timeouts of calls that are not idempotent."""
    prepared, problem = state.prepared, result.problem
    if result.status is not Status.FAILED or problem is None or prepared.entry is None:
        return False
    if problem.code == "timeout" and state.timer.cancellation.expired:
        harmless = prepared.reads_only or prepared.tool.idempotent
        return not harmless or prepared.entry.attempts > 1
    return problem.code == "internal" or (problem.retryable and prepared.entry.attempts > 1)


@dataclass(slots=True)
class DeadLetters:
    """The dead letters of a store, seen from one session. `owner` names this process, `alive`
    tells whether another one still runs; `caller` makes the calls, `knows` says which tools
    can be called.
    """

    store: DeadLetterStore
    session: Session
    owner: str
    alive: Callable[[str], bool]
    caller: MakesCalls | None = None
    knows: Callable[[str], bool] | None = None

    async def note(self, state: CallState, result: ToolResult) -> None:
        """Keep the call if it is dead; that it cannot be kept must not change its result."""
        if not is_dead(state, result) or result.problem is None:
            return
        prepared = state.prepared
        letter = NewLetter(
            self.session.id,
            result.call_id,
            self.session.roots[0],
            prepared.call.agent,
            f"tool:{prepared.name}",
            prepared.arguments,
            result.problem.to_dict(),
        )
        retried = _retried.get()
        if retried is not None and _same_call(retried, letter):
            return
        try:
            await self.store.keep_letter(letter)
        except ProblemRaised as raised:
            _log.error("no dead letter for %s: %s", prepared.name, raised.problem.message)

    async def items(self, state: LetterState | str | None = None) -> Sequence[DeadLetter]:
        """All, or those in one state ("pending", …), oldest first."""
        return await self.store.letters(None if state is None else LetterState(state))

    async def get(self, id: int) -> DeadLetter:
        """One of them; raises `not_found`."""
        letter = await self.store.letter(id)
        if letter is None:
            raise messages.NO_DEAD_LETTER.error(id=id)
        return letter

    async def retry(self, id: int) -> ToolResult:
        """Make the call again, with a new id, as its agent would: rules, mode and questions apply. If it
        succeeds, the letter is resolved; otherwise it stays pending with the new failure.

        Raises `conflict` if another process retries it, if it is resolved or abandoned, if it was made
        in another workspace or if its tool is not registered here; the letter does not change then.
        """
        letter = await self._take(id, LetterState.RETRYING, self.owner)
        held = _retried.set(letter)
        back = LetterMove(LetterState.PENDING)
        try:
            if self.caller is None:
                raise LookupError("nobody makes calls here")
            result = await self.caller(letter.tool, letter.arguments, agent=letter.agent)
            back = _outcome(result)
            return result
        finally:
            _retried.reset(held)
            await asyncio.shield(self.store.move_letter(letter, back))

    async def abandon(self, id: int) -> DeadLetter:
        """Abandon the letter; raises `conflict` if another process retries it, or if it is resolved."""
        await self._take(id, LetterState.ABANDONED, "")
        return await self.get(id)

    async def keep_retrying(
        self, every_s: float = RETRY_S, *, most_attempts: int = MOST_ATTEMPTS
    ) -> None:
        """Retry pending letters again and again, until cancelled: for a task of your own. Letters that
        failed `most_attempts` times are left to the user.
        """
        while True:
            for letter in await self.items(LetterState.PENDING):
                if letter.attempts < most_attempts and self._why_not(letter) is None:
                    try:
                        await self.retry(letter.id)
                    except ProblemRaised as raised:
                        _log.info("dead letter %s: %s", letter.id, raised.problem.message)
            await asyncio.sleep(every_s)

    async def _take(self, id: int, state: LetterState, owner: str) -> DeadLetter:
        seen = await self.get(id)
        not_now = self._over(seen) or (self._why_not(seen) if owner else None)
        if not_now is None and not await self.store.move_letter(seen, LetterMove(state, owner)):
            not_now = _Refusal("somebody else was first", f"`handrail letters show {id}` says more")
        if not_now is not None:
            said = f"dead letter {id} cannot be taken: {not_now.why}"
            raise ProblemRaised("conflict", said, hint=not_now.hint)
        return await self.get(id)

    def _over(self, letter: DeadLetter) -> _Refusal | None:
        if letter.state in (LetterState.RESOLVED, LetterState.ABANDONED):
            return _Refusal(
                f"it is {letter.state.value}",
                "make the call anew if it is still wanted; `handrail letters` lists what waits",
            )
        if letter.state is LetterState.RETRYING and self.alive(letter.owner):
            return _Refusal("it is being tried again", "look again when that is over")
        return None

    def _why_not(self, letter: DeadLetter) -> _Refusal | None:
        """Why a letter cannot be tried again from here."""
        if letter.redacted:
            why = "its arguments held a secret, which is not kept"
            return _Refusal(why, "make the call anew yourself")
        if letter.workspace != self.session.roots[0]:
            return _Refusal(f"it was made in {letter.workspace!r}", "open that workspace")
        if self.knows is not None and not self.knows(letter.tool):
            return _Refusal(
                f"its tool {letter.tool!r} is not registered here",
                f"use `rt.dead_letters.retry({letter.id})` in the program that registers it",
            )
        return None


def _outcome(result: ToolResult) -> LetterMove:
    if result.status is Status.OK:
        return LetterMove(LetterState.RESOLVED)
    error = None if result.problem is None else result.problem.to_dict()
    return LetterMove(LetterState.PENDING, error=error)


def _same_call(known: DeadLetter, new: NewLetter) -> bool:
    return (known.operation, known.arguments) == (new.operation, new.arguments)
