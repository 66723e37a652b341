"""Limits on what a task may use: time, steps, tokens and money before each request, calls before
each call.

Steps and calls are exact. Tokens and money are checked with an estimate before a request is
sent; what a provider bills beyond that is reported and ends the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from handrail.agent import messages
from handrail.core.agent_results import Usage
from handrail.core.ports.agents import PricePerMillion
from handrail.core.ports.models import UsageReported
from handrail.core.problems import Problem

_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?)([km]?)", re.IGNORECASE)
_FACTORS: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_WARN_AT: Final = 0.8
_MINUTE_S: Final = 60
# An answer shorter than this is of no use; a request that leaves less room is not sent.
MIN_OUTPUT_TOKENS: Final = 256


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one task; None means no limit. Time spent waiting for the user is not counted."""

    tokens: int | None = None
    usd: float | None = None
    minutes: float | None = None
    steps: int | None = None
    calls: int | None = None

    @staticmethod
    def parse(text: str) -> Budget:
        """A budget as written on the command line: "tokens=200k,usd=1,steps=50"; raises
        `invalid_arguments`.
        """
        limits: dict[str, Any] = {}
        for part in text.split(","):
            name, _, amount = part.strip().partition("=")
            found = _NUMBER.fullmatch(amount.strip())
            if name not in _NAMES or found is None or name in limits:
                raise messages.INVALID_BUDGET.error(
                    part=part.strip(), names=", ".join(_NAMES), field="budget"
                )
            value = float(found[1]) * _FACTORS[found[2].lower()]
            limits[name] = value if name in ("usd", "minutes") else int(value)
        return Budget(**limits)


_NAMES: Final = tuple(one.name for one in fields(Budget))


def request_cost(price: PricePerMillion, used: UsageReported) -> float:
    """What a request cost, in US dollars."""
    plain = max(used.input - used.cache_read - used.cache_write, 0)
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    total = plain * price.input + used.output * price.output
    return (total + used.cache_read * read + used.cache_write * write) / 1e6


class BudgetMeter:
    """Counts what one task uses against its budget. `now` gives the seconds that count: those that
    were spent waiting for the user do not.
    """

    def __init__(
        self, budget: Budget, price: PricePerMillion | None, now: Callable[[], float]
    ) -> None:
        if budget.usd is not None and price is None:
            raise messages.NO_PRICE.error(field="budget")
        self._budget = budget
        self._price = price
        self._now = now
        self._started = now()
        self._warned: set[str] = set()
        self.usage = Usage(usd=None if price is None else 0.0)
        self.steps = 0

    def allow_step(self, input_tokens: int, max_output_tokens: int) -> int:
        """How many tokens the next answer may have; raises `budget_exceeded` if a request of this
        size does not fit.
        """
        self._check("minutes", self._minutes())
        self._check("steps", self.steps)
        room = max_output_tokens
        for kind, left in self._tokens_left(input_tokens).items():
            if left < min(MIN_OUTPUT_TOKENS, max_output_tokens):
                raise messages.BUDGET_USED_UP.error(kind=kind, limit=self._limit(kind))
            room = min(room, left)
        self.steps += 1
        return room

    def charge_call(self) -> Problem | None:
        """Count one call; the problem if it exceeds the budget."""
        limit = self._budget.calls
        if limit is not None and self.usage.calls >= limit:
            return messages.BUDGET_USED_UP.fill(kind="calls", limit=self._limit("calls"))
        self.usage = replace(self.usage, calls=self.usage.calls + 1)
        return None

    def add_request(self, used: UsageReported) -> None:
        """Charge one request, answered or not."""
        usd = None if self._price is None else request_cost(self._price, used)
        self.usage = self.usage.add_request(used, usd)

    def overdrawn(self) -> str | None:
        """The kind of limit that was exceeded by what a provider billed, if any."""
        over = {"tokens": self.usage.tokens, "usd": self.usage.usd or 0.0}
        for kind, used in over.items():
            limit = getattr(self._budget, kind)
            if limit is not None and used > limit:
                return kind
        return None

    def warnings(self) -> list[tuple[str, float, float]]:
        """The limits of which 80 % are used, each reported once: kind, used, limit."""
        used = {
            "tokens": float(self.usage.tokens),
            "usd": self.usage.usd or 0.0,
            "minutes": self._minutes(),
            "steps": float(self.steps),
            "calls": float(self.usage.calls),
        }
        found = []
        for kind, amount in used.items():
            limit = getattr(self._budget, kind)
            if limit is not None and amount >= _WARN_AT * limit and kind not in self._warned:
                self._warned.add(kind)
                found.append((kind, amount, float(limit)))
        return found

    def _tokens_left(self, input_tokens: int) -> dict[str, int]:
        """How long an answer each limit leaves room for, after an input of this size."""
        left: dict[str, int] = {}
        if self._budget.tokens is not None:
            left["tokens"] = self._budget.tokens - self.usage.tokens - input_tokens
        if self._budget.usd is not None and self._price is not None:
            usd = self._budget.usd - (self.usage.usd or 0.0)
            usd -= input_tokens * self._price.input / 1e6
            output = self._price.output / 1e6
            left["usd"] = int(usd / output) if output else (2**31 if usd >= 0 else -1)
        return left

    def _minutes(self) -> float:
        return (self._now() - self._started) / _MINUTE_S

    def _check(self, kind: str, used: float) -> None:
        limit = getattr(self._budget, kind)
        if limit is not None and used >= limit:
            raise messages.BUDGET_USED_UP.error(kind=kind, limit=self._limit(kind))

    def _limit(self, kind: str) -> str:
        limit = getattr(self._budget, kind)
        return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"
