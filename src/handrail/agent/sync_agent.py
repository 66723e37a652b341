"""An agent for code without `async`, created by `handrail.sync`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from os import PathLike
from typing import Any

from handrail.core.agent_results import AgentResult
from handrail.core.events import Event, Listener
from handrail.core.ports.agents import RunningAgent
from handrail.core.ports.models import Block

# Runs a coroutine in the thread of the runtime and waits for its result.
Wait = Callable[[Coroutine[Any, Any, Any]], Any]


class SyncAgent:
    """An agent whose methods block; see `handrail.Agent`."""

    def __init__(self, agent: RunningAgent, wait: Wait) -> None:
        self._agent = agent
        self._wait = wait

    def run(
        self,
        task: str | Sequence[Block],
        *,
        output: Any = None,
        on_event: Listener | None = None,
    ) -> AgentResult:
        """Work on a task until it is done. `on_event` is called in the runtime's thread."""
        result: AgentResult = self._wait(self._agent.run(task, output=output, on_event=on_event))
        return result

    def resume(self, *, on_event: Listener | None = None) -> AgentResult:
        """Continue the unfinished task of this session."""
        result: AgentResult = self._wait(self._agent.resume(on_event=on_event))
        return result

    def stopped_result(self) -> AgentResult | None:
        """Return the result of the last task if it was cancelled."""
        stopped: AgentResult | None = self._wait(self._agent.stopped_result())
        return stopped

    def stream(self, task: str | Sequence[Block], *, output: Any = None) -> Iterator[Event]:
        """Work on a task and yield its events; the last one is `agent_end`."""
        events = self._agent.stream(task, output=output)
        try:
            while (event := self._wait(_next_event(events))) is not None:
                yield event
        finally:
            self._wait(_close_events(events))

    def spawn(self, agent_type: str, task: str, **limits: Any) -> AgentResult:
        """Let a subagent of a type do a task; blocks until it has ended."""
        result: AgentResult = self._wait(self._agent.spawn(agent_type, task, **limits))
        return result

    def compact(self, *, on_event: Listener | None = None) -> Any:
        """Send the conversation in a shorter form from now on."""
        return self._wait(self._agent.compact(on_event=on_event))

    def rewind(self, turn: int, *, force: bool = False) -> Any:
        """Restore the conversation and the files to the end of a turn."""
        return self._wait(self._agent.rewind(turn, force=force))

    def undo_task(self, *, force: bool = False, on_event: Listener | None = None) -> Any:
        """Restore the conversation and the files to the start of the last task."""
        return self._wait(self._agent.undo_task(force=force, on_event=on_event))

    def fork(
        self, turn: int | None = None, *, into: str | PathLike[str] | None = None
    ) -> SyncAgent:
        """Return an agent in a new session with the conversation up to the end of a turn; with
        `into`, in a copy of the workspace.
        """
        return SyncAgent(self._wait(self._agent.fork(turn, into=into)), self._wait)

    def new(self) -> SyncAgent:
        """Return an agent with the same options and an empty conversation."""
        return SyncAgent(self._agent.new(), self._wait)

    def __getattr__(self, name: str) -> Any:
        """Return `session`, `turn`, `messages`, `usage`, and `steer`, which does not block."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._agent, name)


async def _next_event(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)


async def _close_events(events: AsyncIterator[Event]) -> None:
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()
