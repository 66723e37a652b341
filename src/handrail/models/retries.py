"""How often a request is retried, and after which pause."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from handrail.core.ports.models import ModelFailed, ModelRetry

# Requests are not retried if the provider asks for a longer pause.
MAX_WAIT_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a failed request is sent again, after which pause, and when a stream counts as
    stalled.
    """

    requests: int = 4
    first_wait_s: float = 0.2
    idle_s: float = 120.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def wait_s(self, attempt: int, asked_s: float | None) -> float:
        """Return the pause before the next attempt: what the provider asks for, else doubling."""
        if asked_s is not None:
            return asked_s
        jitter = random.uniform(0.9, 1.1)  # noqa: S311 - spreads load, guards nothing
        return float(self.first_wait_s * 2 ** (attempt - 1) * jitter)


class RetryCounter:
    """Counts the retries of one request. `streams`: how many may follow a failed stream."""

    def __init__(self, policy: RetryPolicy, streams: int) -> None:
        self._policy = policy
        self._most = {"request": policy.requests, "stream": streams}
        self._made = {"request": 0, "stream": 0}

    def next_retry(self, failed: ModelFailed) -> ModelRetry:
        """Return the retry after a failure; raises the failure if none is left."""
        # If usage was reported, the provider had begun to answer.
        kind = "request" if failed.usage is None else "stream"
        self._made[kind] += 1
        wait_s = self._policy.wait_s(self._made[kind], failed.retry_after_s)
        if not failed.retryable or self._made[kind] > self._most[kind] or wait_s > MAX_WAIT_S:
            raise failed
        return ModelRetry(sum(self._made.values()), failed.code, wait_s, failed.usage)
