"""Retries of idempotent tools after transient failures."""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import Awaitable, Callable
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.core.results import Output

BASE_S: Final = 0.5
FACTOR: Final = 2.0
CAP_S: Final = 5.0
JITTER: Final = 0.25
_TRANSIENT_ERRNOS: Final = frozenset(
    {errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNREFUSED, errno.EBUSY, errno.EAGAIN}
)
# Libraries raise these without an errno; the class alone identifies the error.
_TRANSIENT_TYPES: Final = (ConnectionError, TimeoutError, InterruptedError, BlockingIOError)
_TRANSIENT_MESSAGES: Final = ("timeout", "timed out", "temporarily unavailable")


def backoff_s(failures: int, chance: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait after `failures` failures: exponential, capped, with jitter."""
    wanted = min(BASE_S * FACTOR ** (failures - 1), CAP_S)
    return wanted * (1 + JITTER * (2 * chance() - 1))


def is_transient(error: Exception) -> bool:
    """Return whether the failure is probably temporary, so that a later attempt may succeed."""
    if isinstance(error, ProblemRaised):
        return error.problem.retryable
    if not isinstance(error, OSError):
        return False
    if isinstance(error, _TRANSIENT_TYPES) or error.errno in _TRANSIENT_ERRNOS:
        return True
    message = str(error).lower()
    return any(word in message for word in _TRANSIENT_MESSAGES)


async def retry(
    run: Callable[[], Awaitable[Output]], attempts: int, report: Callable[[str], None]
) -> Output:
    """Await `run()`, repeated after transient failures, at most `attempts` times in total; raises
    the last failure. `report` gets a line before every wait.
    """
    made = 1
    while True:
        try:
            return await run()
        except (ProblemRaised, OSError) as error:
            if made >= attempts or not is_transient(error):
                raise
            wait = backoff_s(made)
            why = str(error) or type(error).__name__
            report(f"attempt {made} of {attempts} failed ({why}); again in {wait:.1f} s")
        made += 1
        await asyncio.sleep(wait)
