"""Limits of a task: time, steps, tokens and money before each request, calls before each call.

Steps and calls are exact. Tokens and money are checked with an estimate before a request is sent;
anything that a provider bills beyond that is reported and ends the run.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from handrail.agent import messages
from handrail.core.agent_results import Usage
from handrail.core.ports.agents import PricePerMillion
from handrail.core.ports.models import ModelEvent, UsageReported
from handrail.core.problems import Problem, ProblemRaised

_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?)([km]?)", re.IGNORECASE)
_FACTORS: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_WARN_AT: Final = 0.8
_MINUTE_S: Final = 60
# A shorter answer is of no use; a request that leaves less room is not sent.
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
        """Parse a budget as on the command line: "tokens=200k,usd=1,steps=50"; raises
        `invalid_arguments`.
        """
        limits: dict[str, Any] = {}
        for part in text.split(","):
            name, _, amount = part.strip().partition("=")
            match = _NUMBER.fullmatch(amount.strip())
            value = float(match[1]) * _FACTORS[match[2].lower()] if match else math.inf
            if name not in _NAMES or not math.isfinite(value) or name in limits:
                raise messages.INVALID_BUDGET.error(
                    part=part.strip(), names=", ".join(_NAMES), field="budget"
                )
            limits[name] = value if name in ("usd", "minutes") else int(value)
        return Budget(**limits)


_NAMES: Final = tuple(one.name for one in fields(Budget))


def request_cost(price: PricePerMillion, used: UsageReported) -> float:
    """Return the cost of a request, in US dollars."""
    plain = max(used.input - used.cache_read - used.cache_write, 0)
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    total = plain * price.input + used.output * price.output
    return (total + used.cache_read * read + used.cache_write * write) / 1e6


class BudgetMeter:
    """Counts the usage of one task against its budget. `now` returns seconds without the time spent
    waiting for the user.

    The meter of a subagent has a `parent`: its usage is charged to both, and it may use no more
    than the parent has left. A request in flight reserves its maximum cost, so that concurrent
    agents do not spend the same remainder.

    `on_change` is called before each request and after each response and stores `spent()`; a task
    that continues in another process starts with that.
    """

    def __init__(
        self,
        budget: Budget,
        price: PricePerMillion | None,
        now: Callable[[], float],
        parent: BudgetMeter | None = None,
    ) -> None:
        self.budget = budget
        self._price = price
        self.now = now
        self.parent = parent
        self.started = now()
        self._warned: set[str] = set()
        self.children: list[BudgetMeter] = []
        # The largest cost of the request in flight: tokens and US dollars.
        self.reserved = (0, 0.0)
        self.usage = Usage(usd=None if price is None else 0.0)
        self.steps = 0
        # The steps, without those of subagents.
        self.own_steps = 0
        # The usage of earlier processes, and the reservations of their requests in flight, which
        # the provider may have billed.
        self._earlier = Usage()
        self._lost = (0, 0.0)
        self.on_change: Callable[[], None] | None = None
        # The problem of the first call that was refused because no call was left.
        self.refused_call: Problem | None = None
        if price is None and any(meter.budget.usd is not None for meter in self.line()):
            raise messages.NO_PRICE.error(field="budget")
        if parent is not None:
            parent.children.append(self)

    @contextmanager
    def active(self) -> Iterator[BudgetMeter]:
        """Make this the current meter inside the block; its reservation is released afterwards."""
        token = current_meter.set(self)
        try:
            yield self
        finally:
            current_meter.reset(token)
            self.reserved = (0, 0.0)

    @property
    def total(self) -> Usage:
        """The usage of the task in this and in earlier processes."""
        return self._earlier + self.usage

    def spent(self) -> dict[str, Any]:
        """Return the state for a process that continues the task, as JSON."""
        tokens, usd = self.reserved
        return {
            "usage": self.total.to_dict(),
            "steps": self.steps,
            "own_steps": self.own_steps,
            "seconds": round(self.now() - self.started, 3),
            "in_flight": [self._lost[0] + tokens, self._lost[1] + usd],
        }

    def restore(self, spent: Mapping[str, Any] | None) -> None:
        """Start with what earlier processes have spent on the task."""
        if spent is None:
            return
        self._earlier = Usage.from_dict(spent["usage"])
        self.steps, self.own_steps = spent["steps"], spent["own_steps"]
        self.started -= spent["seconds"]
        tokens, usd = spent["in_flight"]
        self._lost = (tokens, usd)

    def end(self) -> None:
        """End the task: no request is in flight. Its own steps are counted from 0 if the user
        continues it.
        """
        self.reserved, self.own_steps = (0, 0.0), 0

    def keep(self) -> None:
        """Store what this task, and those above it, have spent."""
        for meter in self.line():
            if meter.on_change is not None:
                meter.on_change()

    def allow_step(self, input_tokens: int, max_output_tokens: int) -> int:
        """Count a step and return the token limit of its answer. Raises `budget_exceeded` if no
        step is left, or a request of this size does not fit.
        """
        for meter in self.line():
            meter.check_limit("steps", meter.steps)
        room = self.allow_request(input_tokens, max_output_tokens)
        for meter in self.line():
            meter.steps += 1
        self.own_steps += 1
        self.keep()
        return room

    def allow_request(self, input_tokens: int, max_output_tokens: int) -> int:
        """Return the token limit of the answer to a request of this size; raises `budget_exceeded`
        if the request does not fit.
        """
        self.reserved = (0, 0.0)
        room = max_output_tokens
        for meter in self.line():
            meter.check_limit("minutes", meter.minutes_used())
            for kind, left in meter.tokens_left(input_tokens, self._price).items():
                if left < min(MIN_OUTPUT_TOKENS, max_output_tokens):
                    raise messages.BUDGET_USED_UP.error(kind=kind, limit=meter.limit_text(kind))
                room = min(room, left)
        usd = 0.0
        if self._price is not None:
            usd = (input_tokens * self._price.input + room * self._price.output) / 1e6
        self.reserved = (input_tokens + room, usd)
        return room

    def check_answer(self, input_tokens: int, tokens: int) -> None:
        """Raise `budget_exceeded` if an answer that has grown to this many tokens, estimated from
        its bytes, does not fit: a model may exceed the length that the request allows.
        """
        reserved, self.reserved = self.reserved, (0, 0.0)
        try:
            for meter in self.line():
                for kind, left in meter.tokens_left(input_tokens, self._price).items():
                    if left < tokens:
                        raise messages.BUDGET_USED_UP.error(kind=kind, limit=meter.limit_text(kind))
        finally:
            self.reserved = reserved

    @property
    def seconds_left(self) -> float | None:
        """Return how long the task may continue to work; None without a limit."""
        remaining = [
            max(meter.budget.minutes * _MINUTE_S - (meter.now() - meter.started), 0.0)
            for meter in self.line()
            if meter.budget.minutes is not None
        ]
        return min(remaining, default=None)

    def out_of_time(self) -> ProblemRaised:
        """Return the problem of a task whose time is used up."""
        limited = [meter for meter in self.line() if meter.budget.minutes is not None]
        return messages.BUDGET_USED_UP.error(
            kind="minutes", limit=limited[-1].limit_text("minutes")
        )

    def charge_call(self) -> Problem | None:
        """Count one call; return the problem if it exceeds the budget."""
        for meter in self.line():
            limit = meter.budget.calls
            if limit is not None and meter.total.calls >= limit:
                text = meter.limit_text("calls")
                self.refused_call = messages.BUDGET_USED_UP.fill(kind="calls", limit=text)
                return self.refused_call
        for meter in self.line():
            meter.usage = replace(meter.usage, calls=meter.usage.calls + 1)
        return None

    def return_call(self) -> None:
        """Uncount a call that never runs because the stream of its message was cut off."""
        for meter in self.line():
            meter.usage = replace(meter.usage, calls=meter.usage.calls - 1)

    def add_request(self, used: UsageReported, price: PricePerMillion | None = None) -> None:
        """Charge one request, answered or not; `price` if it went to another model."""
        request_price = price or self._price
        usd = None if request_price is None else request_cost(request_price, used)
        self.reserved = (0, 0.0)
        for meter in self.line():
            meter.usage = meter.usage.add_request(used, usd)
        self.keep()

    def overdrawn(self) -> str | None:
        """Return the kind of limit that a provider's bill exceeded, or None."""
        for meter in self.line():
            over = {"tokens": meter.total.tokens, "usd": meter.total.usd or 0.0}
            for kind, used in over.items():
                limit = getattr(meter.budget, kind)
                if limit is not None and used > limit:
                    return kind
        return None

    def warnings(self) -> list[tuple[str, float, float]]:
        """Return the limits of which 80 % are used, each once: kind, used, limit."""
        total = self.total
        used = {
            "tokens": float(total.tokens),
            "usd": total.usd or 0.0,
            "minutes": self.minutes_used(),
            "steps": float(self.steps),
            "calls": float(total.calls),
        }
        warnings = []
        for kind, amount in used.items():
            limit = getattr(self.budget, kind)
            if limit is not None and amount >= _WARN_AT * limit and kind not in self._warned:
                self._warned.add(kind)
                warnings.append((kind, amount, float(limit)))
        return warnings

    def tokens_left(self, input_tokens: int, price: PricePerMillion | None) -> dict[str, int]:
        """Return the room that each limit leaves for the answer, after an input of this size."""
        left: dict[str, int] = {}
        tokens, money = self.in_flight()
        if self.budget.tokens is not None:
            left["tokens"] = self.budget.tokens - self.total.tokens - tokens - input_tokens
        if self.budget.usd is not None and price is not None:
            usd = self.budget.usd - (self.total.usd or 0.0) - money
            usd -= input_tokens * price.input / 1e6
            output = price.output / 1e6
            left["usd"] = int(usd / output) if output else (2**31 if usd >= 0 else -1)
        return left

    def in_flight(self) -> tuple[int, float]:
        """Return the tokens and US dollars that this task and those below it have reserved."""
        tokens, usd = self.reserved[0] + self._lost[0], self.reserved[1] + self._lost[1]
        for child in self.children:
            more, money = child.in_flight()
            tokens, usd = tokens + more, usd + money
        return tokens, usd

    def line(self) -> Iterator[BudgetMeter]:
        """Yield this meter and those above it."""
        meter: BudgetMeter | None = self
        while meter is not None:
            yield meter
            meter = meter.parent

    def minutes_used(self) -> float:
        """Return how long the task has worked."""
        return (self.now() - self.started) / _MINUTE_S

    def check_limit(self, kind: str, used: float) -> None:
        """Raise `budget_exceeded` if `used` reaches a limit."""
        limit = getattr(self.budget, kind)
        if limit is not None and used >= limit:
            raise messages.BUDGET_USED_UP.error(kind=kind, limit=self.limit_text(kind))

    def limit_text(self, kind: str) -> str:
        """Return a limit as text for problems."""
        limit = getattr(self.budget, kind)
        return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


# The meter of the task that runs this code.
current_meter: ContextVar[BudgetMeter | None] = ContextVar("handrail_meter", default=None)


async def stop_at(
    events: AsyncIterator[ModelEvent], meter: BudgetMeter
) -> AsyncGenerator[ModelEvent, None]:
    """Yield the events until the time of the budget is used up; raises `budget_exceeded` then."""
    try:
        while True:
            limit = asyncio.timeout(meter.seconds_left)
            try:
                async with limit:
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if limit.expired():
                    raise meter.out_of_time() from None
                raise
            yield event
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
