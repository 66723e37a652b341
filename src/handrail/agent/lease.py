"""One process at a time works in a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from handrail.agent import messages
from handrail.core.ports.agents import AgentProcess
from handrail.core.ports.records import Store

_LEASE: Final = "lease"
# The holder of a lease that was given back.
_NOBODY: Final = ""
# Workspace and conversation of the leases that this process holds.
_HELD: Final[set[tuple[str, str]]] = set()


@dataclass(frozen=True, slots=True)
class ConversationLease:
    """The right to extend a conversation. A lease ends with its process, or when it is released."""

    store: Store
    workspace: str
    conversation: str
    process: AgentProcess

    async def acquire(self) -> None:
        """Take the lease; raises `unavailable` if another agent of this process, or another process
        that is alive, has it.
        """
        if (self.workspace, self.conversation) in _HELD:
            raise self._in_use("this one")
        await self._claim()
        _HELD.add((self.workspace, self.conversation))

    async def _claim(self) -> None:
        session = f"conversation:{self.conversation}"
        held = await self.store.claim(session, _LEASE, _LEASE, self.process.name)
        if held is None or held.owner == self.process.name:
            return
        if held.owner != _NOBODY and self.process.is_alive(held.owner):
            raise self._in_use(held.owner)
        if not await self.store.take_over(session, _LEASE, held.owner, self.process.name):
            raise self._in_use("which was faster")

    async def release(self) -> None:
        """Give the lease back."""
        _HELD.discard((self.workspace, self.conversation))
        session = f"conversation:{self.conversation}"
        await self.store.take_over(session, _LEASE, self.process.name, _NOBODY)

    def _in_use(self, holder: str) -> Exception:
        return messages.CONVERSATION_IN_USE.error(session=self.conversation, holder=holder)
