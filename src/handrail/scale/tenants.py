"""Shares a fleet between tenants: each gets as many agents as any other, within its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from handrail.agent.budget import Budget
from handrail.core.problems import ProblemRaised
from handrail.scale import messages
from handrail.scale.journal import WaitingTask

EVERY_TENANT: Final = "*"
_WINDOW: Final = 256
# Less than any request costs: rounding of sums may leave this much of a limit.
_LEAST_USD: Final = 1e-6
_NAMES: Final = ("agents", "processes", "tokens", "usd")


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """The limits of a tenant's tasks: agents at a time, worker processes at a time, and tokens and
    US dollars in total. None means no limit.
    """

    agents: int | None = None
    processes: int | None = None
    tokens: int | None = None
    usd: float | None = None

    @classmethod
    def parse(cls, text: str) -> tuple[str, TenantLimits]:
        """The name and the limits in "NAME:agents=4,tokens=2m"; raises `invalid_arguments`."""
        name, colon, limits = text.partition(":")
        values: dict[str, Any] = {}
        for part in limits.split(","):
            key, _, amount = part.strip().partition("=")
            if not name or not colon or key not in _NAMES or key in values:
                reason = f"{part.strip()!r} is not a limit"
                raise messages.INVALID_LIMITS.error(text=text, reason=reason, field="tenant")
            values[key] = _amount(text, key, amount)
        return name, cls(**values)


def _amount(text: str, key: str, amount: str) -> float | int:
    kind = key if key == "usd" else "tokens"
    try:
        found: float | int | None = getattr(Budget.parse(f"{kind}={amount}"), kind)
    except ProblemRaised:
        found = None
    if found is None or (key in ("agents", "processes") and found < 1):
        reason = f"{amount!r} is not a valid number of {key}"
        raise messages.INVALID_LIMITS.error(text=text, reason=reason, field="tenant")
    return found


@dataclass(slots=True)
class TenantState:
    """The waiting and running tasks of one tenant, and what it has used."""

    name: str
    limits: TenantLimits
    tokens: int = 0
    usd: float = 0.0
    # The running tasks, each with the budget that is reserved for it, and its worker.
    running: dict[int, tuple[Budget, int]] = field(default_factory=dict)
    queue: list[WaitingTask] = field(default_factory=list)
    # The last number that was loaded; tasks that wait again have smaller ones.
    loaded: int = 0
    started: int = 0

    @property
    def workers(self) -> set[int]:
        """The workers that have a task of the tenant."""
        return {worker for _, worker in self.running.values()}

    def may_start(self) -> bool:
        """Return whether the limits allow one more agent."""
        if self.limits.agents is not None and len(self.running) >= self.limits.agents:
            return False
        tokens, usd = self.left()
        return (tokens is None or tokens > 0) and (usd is None or usd >= _LEAST_USD)

    def left(self) -> tuple[int | None, float | None]:
        """Return the tokens and the money that are neither used nor reserved."""
        tokens, usd = self.limits.tokens, self.limits.usd
        for reserved, _ in self.running.values():
            tokens = None if tokens is None else tokens - (reserved.tokens or 0)
            usd = None if usd is None else usd - (reserved.usd or 0.0)
        tokens = None if tokens is None else tokens - self.tokens
        return tokens, None if usd is None else usd - self.usd

    def reserve(self, budget: Budget, agents: int) -> Budget:
        """Return the budget of one more task: what it asks for, or its share of what is left if
        `agents` run at the same time.
        """
        tokens, usd = self.left()
        parts = max(min(agents, self.limits.agents or agents) - len(self.running), 1)
        if tokens is not None:
            own = budget.tokens if budget.tokens is not None else max(tokens // parts, 1)
            budget = replace(budget, tokens=min(own, tokens))
        if usd is not None:
            money = budget.usd if budget.usd is not None else usd / parts
            budget = replace(budget, usd=min(money, usd))
        return budget


class TenantQueues:
    """Chooses the next task. `load` returns the next waiting tasks of a tenant."""

    def __init__(
        self,
        limits: Mapping[str, TenantLimits],
        load: Callable[[str, int, int], list[WaitingTask]],
    ) -> None:
        self._limits = limits
        self._load = load
        self.states: dict[str, TenantState] = {}
        # The tenants that may have waiting tasks: there may be thousands without any.
        self._waiting: dict[str, TenantState] = {}

    def add_tenant(self, name: str, used: tuple[int, float]) -> None:
        """Add a tenant with what its tasks have used before."""
        limits = self._limits.get(name) or self._limits.get(EVERY_TENANT) or TenantLimits()
        self.states[name] = self._waiting[name] = TenantState(name, limits, *used)

    def in_turn(self) -> list[TenantState]:
        """Return the tenants that may start a task, those with the fewest running tasks first."""
        able = [one for one in self._waiting.values() if one.may_start()]
        for one in able:
            if not one.queue:
                one.queue = self._load(one.name, one.loaded, _WINDOW)
                one.loaded = one.queue[-1].number if one.queue else one.loaded
            if not one.queue:
                # While a fleet runs, only tasks that are put back are added.
                del self._waiting[one.name]
        waiting = [one for one in able if one.queue]
        return sorted(waiting, key=lambda one: (len(one.running), one.started, one.name))

    def put_back(self, task: WaitingTask) -> None:
        """Make a task whose worker has ended the next one."""
        self._waiting[task.tenant] = self.states[task.tenant]
        self.states[task.tenant].queue.insert(0, task)
