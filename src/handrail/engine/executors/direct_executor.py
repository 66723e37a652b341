"""Calls that are carried out by the tool itself: reads, and tools with effects of their own."""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from handrail.core.plan import Plan
from handrail.core.problems import ProblemRaised
from handrail.core.results import NO_META, Output, Status
from handrail.engine.call_state import CallState, Outcome
from handrail.engine.prepare.prepared_call import ExecutorKind
from handrail.engine.recording.recorder import Recorder
from handrail.engine.timing import DeadlineTimer

BASE_S: Final = 0.5
FACTOR: Final = 2.0
CAP_S: Final = 5.0
JITTER: Final = 0.25
_PASSING: Final = frozenset(
    {errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNREFUSED, errno.EBUSY, errno.EAGAIN}
)
# Libraries raise these without a number: the class says what happened.
_PASSING_KINDS: Final = (ConnectionError, TimeoutError, InterruptedError, BlockingIOError)
_WORDS: Final = ("timeout", "timed out", "temporarily unavailable")


def backoff_s(failures: int, chance: Callable[[], float] = random.random) -> float:
    """How long to wait after so many failures: growing, capped, and never in step with others."""
    wanted = min(BASE_S * FACTOR ** (failures - 1), CAP_S)
    return wanted * (1 + JITTER * (2 * chance() - 1))


def is_transient(error: Exception) -> bool:
    """Whether a failure may be gone if one waits."""
    if isinstance(error, ProblemRaised):
        return error.problem.retryable
    if not isinstance(error, OSError):
        return False
    if isinstance(error, _PASSING_KINDS) or error.errno in _PASSING:
        return True
    said = str(error).lower()
    return any(word in said for word in _WORDS)


async def retry(
    run: Callable[[], Awaitable[Output]], attempts: int, tell: Callable[[str], None]
) -> Output:
    """Run it, again where a failure may pass; the last failure is the caller's to see."""
    made = 1
    while True:
        try:
            return await run()
        except (ProblemRaised, OSError) as error:
            if made >= attempts or not is_transient(error):
                raise
            wait = backoff_s(made)
            why = str(error) or type(error).__name__
            tell(f"attempt {made} of {attempts} failed ({why}); again in {wait:.1f} s")
        made += 1
        await asyncio.sleep(wait)


def check_output(output: Output | None, meta: Mapping[str, Any] | None = None) -> Outcome:
    """The outcome of a tool that returned, with further `meta`; raises TypeError if that is no valid
    output.
    """
    # Type hints of a tool are not enforced anywhere else.
    if (
        type(output) is not Output
        or type(output.text) is not str
        or type(output.modifiers) is not tuple
        or type(output.images) is not tuple
    ):
        raise TypeError(f"it returned {output!r:.200}, which is not an Output with text")
    # An abstract class takes long to recognise even the default.
    if output.meta is not NO_META and not isinstance(output.meta, Mapping):
        raise TypeError(f"its meta is {output.meta!r:.200}, which is not a mapping")
    if meta:
        output = output._replace(meta={**output.meta, **meta})
    return Outcome(Status.OK if output.problem is None else Status.FAILED, output)


class Executor(Protocol):
    """Carries out cleared calls of one kind, while their locks are held."""

    async def execute(self, state: CallState, plan: Plan | None) -> Outcome | None:
        """The outcome; None if the call must be cleared again."""


@dataclass(frozen=True, slots=True)
class DirectExecutor:
    """Runs the tool, again where it is idempotent and a failure may pass."""

    recorder: Recorder
    timers: DeadlineTimer

    async def execute(self, state: CallState, plan: Plan | None) -> Outcome:
        """Run the tool and return its output as the outcome."""
        prepared, context, timers = state.prepared, state.context, self.timers
        entry, args = prepared.entry, prepared.parsed.model
        if entry is None:
            raise LookupError(f"there is no tool {prepared.call.name!r}")
        tool = entry.tool
        if not prepared.scope.reads_only:
            await state.prepared.principal.policy.check_leases(state, None)
            await self.recorder.write_intent(state, {"runs": prepared.name})
        timers.limit(state.timer, tool.timeout_s)
        if entry.attempts == 1:
            return check_output(await tool.run(args, context))

        async def run() -> Output:
            state.effects.attempts += 1
            timers.limit(state.timer, tool.timeout_s)
            return await tool.run(args, context)

        return check_output(await retry(run, entry.attempts, context.report))


class DeferredExecutors(dict[ExecutorKind, Executor]):
    """The executors by kind; each is built for the first call of its kind."""

    def __init__(self, builders: Mapping[ExecutorKind, Callable[[], Executor]]) -> None:
        super().__init__()
        self._builders = builders

    def __missing__(self, kind: ExecutorKind) -> Executor:
        executor = self[kind] = self._builders[kind]()
        return executor
