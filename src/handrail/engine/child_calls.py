"""The part of a runtime that only the service of subagents uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handrail.core.call import reader_name
from handrail.engine.services import CallServices, ToolServices

if TYPE_CHECKING:
    from contextvars import Context

    from handrail.core.events import Listener


class ChildCalls:
    """Lets a call wait for the calls of an agent that the call has started."""

    def __init__(self, tools: ToolServices, calls: CallServices) -> None:
        self._tools = tools
        self._calls = calls

    def declared_tools(self, agent: str, conversation: str = "") -> frozenset[str] | None:
        """The tools that the model of an agent was shown; None if nothing was declared for it."""
        reader = reader_name(agent, conversation)
        return self._tools.preparer.visibility.find_declared(reader)

    def call_listener(self, call_id: str) -> Listener | None:
        """Return the listener of a running call, besides the subscribers; None if there is none."""
        timer = self._calls.timers.find(call_id)
        return None if timer is None else timer.listener

    def detach_call(self) -> Context:
        """Let the call that runs in this context wait for calls of another agent: it releases
        everything that they may wait for. Returns the context to make those calls in.
        """
        return self._calls.runner.pipeline.locks.detach_call()

    async def release_leases(self, agent: str) -> None:
        """Release the paths that an agent has reserved."""
        await self._calls.policy.leases.release_agent(agent)
