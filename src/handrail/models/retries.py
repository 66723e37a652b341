"""How often a request is sent again, and after which time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from handrail.core.ports.models import ModelFailed, ModelRetry

# A provider that asks for a longer pause is not waited for.
MAX_WAIT_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a failed request is sent again, after which time, and when a stream has failed."""

    requests: int = 4
    first_wait_s: float = 0.2
    idle_s: float = 120.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def wait_s(self, attempt: int, asked_s: float | None) -> float:
        """The time before a further attempt: what the provider asks for, else doubling."""
        if asked_s is not None:
            return asked_s
        jitter = random.uniform(0.9, 1.1)  # noqa: S311 - spreads load, guards nothing
        return float(self.first_wait_s * 2 ** (attempt - 1) * jitter)


class RetryCounter:
    """Counts the retries of one request. `streams`: how many of them may follow a failed stream."""

    def __init__(self, policy: RetryPolicy, streams: int) -> None:
        self._policy = policy
        self._most = {"request": policy.requests, "stream": streams}
        self._made = {"request": 0, "stream": 0}

    def next_retry(self, failed: ModelFailed) -> ModelRetry:
        """The retry that follows a failure; raises the failure if there is none."""
        # With a usage the provider had begun to answer.
        kind = "request" if failed.usage is None else "stream"
        self._made[kind] += 1
        wait_s = self._policy.wait_s(self._made[kind], failed.retry_after_s)
        if not failed.retryable or self._made[kind] > self._most[kind] or wait_s > MAX_WAIT_S:
            raise failed
        return ModelRetry(sum(self._made.values()), failed.code, wait_s, failed.usage)
