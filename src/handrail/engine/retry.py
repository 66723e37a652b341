"""Trying again: only tools that say a repeated call does no harm, and only after failures
that may pass by themselves.
"""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.core.results import Output

BASE_S: Final = 0.5
FACTOR: Final = 2.0
CAP_S: Final = 5.0
JITTER: Final = 0.25
_PASSING: Final = frozenset(
    {errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNREFUSED, errno.EBUSY, errno.EAGAIN}
)
_WORDS: Final = ("timeout", "timed out", "temporarily unavailable")


def pause_s(failures: int, chance: Callable[[], float] = random.random) -> float:
    """How long to wait after so many failures: growing, capped, and never in step with others."""
    wanted = min(BASE_S * FACTOR ** (failures - 1), CAP_S)
    return wanted * (1 + JITTER * (2 * chance() - 1))


def may_pass(error: Exception) -> bool:
    """Whether a failure may be gone if one waits."""
    if isinstance(error, ProblemRaised):
        return error.problem.retryable
    if isinstance(error, OSError) and error.errno in _PASSING:
        return True
    said = str(error).lower()
    return isinstance(error, OSError | TimeoutError) and any(word in said for word in _WORDS)


async def tried(
    run: Callable[[], Awaitable[Output]], attempts: int, tell: Callable[[str], None]
) -> Output:
    """Run it, again where a failure may pass; the last failure is the caller's to see."""
    made = 1
    while True:
        try:
            output = await run()
        except (ProblemRaised, OSError) as error:
            if made >= attempts or not may_pass(error):
                raise
            wait = pause_s(made)
            tell(f"attempt {made} of {attempts} failed ({error}); again in {wait:.1f} s")
        else:
            return output if made == 1 else _noted(output, made)
        made += 1
        await asyncio.sleep(wait)


def _noted(output: Output, attempts: int) -> Output:
    # What a tool returned may be anything; whether it is an output is looked at elsewhere.
    if type(output) is not Output or not isinstance(output.meta, Mapping):
        return output
    return output._replace(meta={**output.meta, "attempts": attempts})
