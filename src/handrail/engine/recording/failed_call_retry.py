"""Failed calls: which failures are recorded for a retry, and the retry itself.

A retry is a new call that passes every check. Refusals and mistakes of the model are not recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from handrail.core.context import Session
from handrail.core.failed_calls import (
    FailedCall,
    FailedCallChange,
    FailedCallState,
    FailedCallStore,
    NewFailedCall,
)
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.engine import messages
from handrail.engine.call_state import CallState

_log = logging.getLogger("handrail")
RETRY_INTERVAL_S: Final = 60.0
MOST_ATTEMPTS: Final = 5

# The failed call that is retried in this context, so that a second failure adds no second row.
_retried: ContextVar[FailedCall | None] = ContextVar("handrail_failed_call", default=None)


class MakesCalls(Protocol):
    """Makes a new call; implemented by `Runtime.call`."""

    async def __call__(self, name: str, arguments: Any, /, *, agent: str) -> ToolResult:
        """Run one tool through the whole pipeline."""


class _RetryRefusal(NamedTuple):
    why: str
    hint: str


def is_recorded_failure(state: CallState, result: ToolResult) -> bool:
    """Return whether the failure is stored for a later retry: an internal error, the last transient
    failure or timeout of a tool with retries, or a timeout of a tool that is not idempotent.
    """
    prepared, problem = state.prepared, result.problem
    if result.status is not Status.FAILED or problem is None or prepared.entry is None:
        return False
    if problem.code == "timeout" and state.timer.cancellation.expired:
        harmless = prepared.reads_only or prepared.tool.idempotent
        return not harmless or prepared.entry.attempts > 1
    return problem.code == "internal" or (problem.retryable and prepared.entry.attempts > 1)


@dataclass(slots=True)
class FailedCalls:
    """The failed calls of a store, as one session sees them. `owner` names this process; `alive`
    returns whether another process still runs; `caller` makes calls; `knows` returns whether a tool
    can be called.
    """

    store: FailedCallStore
    session: Session
    owner: str
    alive: Callable[[str], bool]
    caller: MakesCalls | None = None
    knows: Callable[[str], bool] | None = None

    async def note(self, state: CallState, result: ToolResult) -> None:
        """Record the call if its failure counts; an error here does not change the result."""
        if not is_recorded_failure(state, result) or result.problem is None:
            return
        prepared = state.prepared
        failed = NewFailedCall(
            self.session.id,
            result.call_id,
            self.session.roots[0],
            prepared.call.agent,
            f"tool:{prepared.name}",
            prepared.arguments,
            _error(state, result.problem),
        )
        retried = _retried.get()
        if retried is not None and _same_call(retried, failed):
            return
        try:
            await self.store.record_failed_call(failed)
        except ProblemRaised as raised:
            _log.error(
                "the failed call of %s was not recorded: %s", prepared.name, raised.problem.message
            )

    async def items(self, state: FailedCallState | str | None = None) -> Sequence[FailedCall]:
        """All failed calls, or those in one state ("pending", …), oldest first."""
        return await self.store.failed_calls(None if state is None else FailedCallState(state))

    async def get(self, id: int) -> FailedCall:
        """The failed call with this id; raises `not_found`."""
        failed = await self.store.failed_call(id)
        if failed is None:
            raise messages.NO_FAILED_CALL.error(id=id)
        return failed

    async def retry(self, id: int) -> ToolResult:
        """Make the call again, with a new id, as its agent would: rules, mode and questions apply.
        If it succeeds, the failed call is resolved; otherwise it stays pending with the new
        failure.

        Raises `conflict` if another process retries it, if it is resolved or abandoned, if it was
        made in another workspace or if its tool is not registered here; the failed call does not
        change then.
        """
        failed = await self._change_state(id, FailedCallState.RETRYING, self.owner)
        held = _retried.set(failed)
        back = FailedCallChange(FailedCallState.PENDING)
        try:
            if self.caller is None:
                raise LookupError("no caller was set")
            result = await self.caller(failed.tool, failed.arguments, agent=failed.agent)
            back = _outcome(result)
            return result
        finally:
            _retried.reset(held)
            await asyncio.shield(self.store.change_failed_call(failed, back))

    async def abandon(self, id: int) -> FailedCall:
        """Abandon the failed call; raises `conflict` if it is being retried or is resolved."""
        await self._change_state(id, FailedCallState.ABANDONED, "")
        return await self.get(id)

    async def keep_retrying(
        self, every_s: float = RETRY_INTERVAL_S, *, most_attempts: int = MOST_ATTEMPTS
    ) -> None:
        """Retry pending calls repeatedly until cancelled; run it in a task. Calls that failed
        `most_attempts` times are left to the user.
        """
        while True:
            for failed in await self.items(FailedCallState.PENDING):
                if failed.attempts < most_attempts and self._retry_refusal(failed) is None:
                    try:
                        await self.retry(failed.id)
                    except ProblemRaised as raised:
                        _log.info("failed call %s: %s", failed.id, raised.problem.message)
            await asyncio.sleep(every_s)

    async def _change_state(self, id: int, state: FailedCallState, owner: str) -> FailedCall:
        seen = await self.get(id)
        not_now = self._settled_refusal(seen) or (self._retry_refusal(seen) if owner else None)
        if not_now is None and not await self.store.change_failed_call(
            seen, FailedCallChange(state, owner)
        ):
            not_now = _RetryRefusal(
                "another process was first", f"see `handrail failed-calls show {id}`"
            )
        if not_now is not None:
            said = f"failed call {id} cannot be retried or discarded: {not_now.why}"
            raise ProblemRaised("conflict", said, hint=not_now.hint)
        return await self.get(id)

    def _settled_refusal(self, failed: FailedCall) -> _RetryRefusal | None:
        if failed.state in (FailedCallState.RESOLVED, FailedCallState.ABANDONED):
            return _RetryRefusal(
                f"it is {failed.state.value}",
                "make the call again if it is still needed; `handrail failed-calls` lists the others",
            )
        if failed.state is FailedCallState.RETRYING and self.alive(failed.owner):
            return _RetryRefusal("it is being retried", "try again when the retry has ended")
        return None

    def _retry_refusal(self, failed: FailedCall) -> _RetryRefusal | None:
        """Return why a failed call cannot be retried from here."""
        if failed.redacted:
            why = "its arguments contained a secret, which is not stored"
            return _RetryRefusal(why, "make the call again yourself")
        if failed.workspace != self.session.roots[0]:
            return _RetryRefusal(f"it was made in {failed.workspace!r}", "open that workspace")
        if self.knows is not None and not self.knows(failed.tool):
            return _RetryRefusal(
                f"its tool {failed.tool!r} is not registered here",
                f"use `rt.dead_letters.retry({failed.id})` in the program that registers it",
            )
        return None


def _outcome(result: ToolResult) -> FailedCallChange:
    if result.status is Status.OK:
        return FailedCallChange(FailedCallState.RESOLVED)
    error = None if result.problem is None else result.problem.to_dict()
    return FailedCallChange(FailedCallState.PENDING, error=error)


def _same_call(known: FailedCall, new: NewFailedCall) -> bool:
    return (known.operation, known.arguments) == (new.operation, new.arguments)


def _error(state: CallState, problem: Problem) -> dict[str, Any]:
    """Return the problem, with the text of the exception that the model was not shown."""
    error = problem.to_dict()
    if state.notes.defect is not None:
        error["message"] = f"{problem.message}: {state.notes.defect}"
    return error
