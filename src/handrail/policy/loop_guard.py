"""A model that goes in circles: the same call, with the same outcome, again and again.

It is told so first, then stopped for a minute. Outcomes that differ are progress, and
whatever changes a file begins a new count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, Literal

Strictness = Literal["off", "warn", "stop"]
WARN_AT: Final = 4
STOP_AT: Final = 8
STOPPED_S: Final = 60.0
_REMEMBERED: Final = 16
_AGENTS: Final = 256


class LoopGuard:
    """Counts for the agents of one session, each for the calls that it made last."""

    def __init__(self, strictness: Strictness, clock: Callable[[], float]) -> None:
        self._strictness = strictness
        self._clock = clock
        # By agent: call → what came of it, and how often in a row it did; newest last.
        self._agents: dict[str, dict[Hashable, tuple[str, int]]] = {}
        # What is refused, and until when: somebody else may have changed things meanwhile.
        self._circling: dict[tuple[str, Hashable], float] = {}

    @property
    def listens(self) -> bool:
        """Whether it has anything to say at all."""
        return self._strictness != "off"

    def may_warn(self, agent: str, tool: str, arguments: Mapping[str, Any], *, ahead: int) -> bool:
        """Whether there could be words about a call before which `ahead` equal ones are on
        their way.
        """
        return self._times(agent, tool, arguments) + ahead + 1 >= WARN_AT

    def may_stop(self, agent: str, tool: str, arguments: Mapping[str, Any], *, ahead: int) -> bool:
        """The same about its being refused."""
        if self._strictness != "stop":
            return False
        made = self._times(agent, tool, arguments) + ahead
        return made >= STOP_AT - 1 or self.stopped(agent, tool, arguments) is not None

    def _times(self, agent: str, tool: str, arguments: Mapping[str, Any]) -> int:
        past = self._agents.get(agent)
        return past.get(call_key(tool, arguments), ("", 0))[1] if past else 0

    def stopped(self, agent: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Why the call is not made once more, None if it may be."""
        if not self._circling:
            return None
        circling = (agent, call_key(tool, arguments))
        if self._circling.get(circling, 0.0) <= self._clock():
            self._circling.pop(circling, None)
            return None
        return (
            f"Handrail's loop guard refused it: {tool} was called {STOP_AT - 1} times with these "
            "arguments, each time with the same outcome"
        )

    def note(
        self, agent: str, tool: str, arguments: Mapping[str, Any], outcome: str, *, changed: bool
    ) -> str | None:
        """Remember what came of a call; words for the model if it goes in circles."""
        if self._strictness == "off":
            return None
        if changed:
            self._forget(agent)
            return None
        key = call_key(tool, arguments)
        # What is refused has no outcome of its own, and does not prolong the refusal.
        if self._circling and self._circling.get((agent, key), 0.0) > self._clock():
            return None
        past = self._agents.get(agent)
        if past is None:
            past = self._begin(agent)
        before, times = past.pop(key, ("", 0))
        times = times + 1 if before == outcome else 1
        past[key] = (outcome, times)
        if len(past) > _REMEMBERED:
            del past[next(iter(past))]
        return None if times < WARN_AT else self._warning(agent, tool, key, times)

    def _warning(self, agent: str, tool: str, key: Hashable, times: int) -> str:
        stops = self._strictness == "stop"
        if stops and times >= STOP_AT - 1:
            self._circling[agent, key] = self._clock() + STOPPED_S
        ahead = "; it will be refused if it goes on" if stops else ""
        return (
            f"this is call number {times} of {tool} with the same arguments and the same outcome"
            f"{ahead}: try something else"
        )

    def _begin(self, agent: str) -> dict[Hashable, tuple[str, int]]:
        if len(self._agents) >= _AGENTS:
            self._forget(next(iter(self._agents)))
        past = self._agents[agent] = {}
        return past

    def _forget(self, agent: str) -> None:
        """What circled may go on: something is different now."""
        self._agents.pop(agent, None)
        if self._circling:
            left = {one: until for one, until in self._circling.items() if one[0] != agent}
            self._circling = left


def call_key(tool: str, arguments: Mapping[str, Any]) -> Hashable:
    """What makes two calls the same one."""
    key = (tool, *arguments.items())
    try:
        hash(key)
    except TypeError:
        return (tool, repr(arguments))
    return key
