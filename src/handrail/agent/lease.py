"""A lease: one process at a time works in a conversation and continues where the last one stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from handrail.agent import messages
from handrail.agent.compaction import forget_compacted_reads
from handrail.agent.conversation import Conversation, load_conversation
from handrail.agent.events import Notification
from handrail.agent.rewind import ConversationRewinder
from handrail.core.events import Listener
from handrail.core.ports.agents import AgentProcess
from handrail.core.ports.records import CONVERSATION_PREFIX, LEASE_KEY, Store
from handrail.engine.runtime import Runtime

# The holder of a released lease.
_NO_OWNER: Final = ""
# Workspace and conversation of the leases that this process has.
_LEASED: Final[set[tuple[str, str]]] = set()


@dataclass(frozen=True, slots=True)
class ConversationLease:
    """The right to extend a conversation. A lease ends with its process, or when it is released."""

    store: Store
    workspace: str
    conversation: str
    process: AgentProcess

    async def acquire(self) -> None:
        """Take the lease; raises `unavailable` if another agent of this process, or another live
        process, has it.
        """
        key = (self.workspace, self.conversation)
        if key in _LEASED:
            raise self._in_use("this one")
        # Before the claim, which waits: another agent of this process could take the lease
        # meanwhile.
        _LEASED.add(key)
        try:
            await self._claim()
        except BaseException:
            _LEASED.discard(key)
            raise

    async def _claim(self) -> None:
        session = CONVERSATION_PREFIX + self.conversation
        current = await self.store.claim(session, LEASE_KEY, LEASE_KEY, self.process.name)
        if current is None or current.owner == self.process.name:
            return
        if current.owner != _NO_OWNER and self.process.is_alive(current.owner):
            raise in_use_error(self.conversation, current.owner)
        if not await self.store.take_over(session, LEASE_KEY, current.owner, self.process.name):
            raise self._in_use("which was faster")

    async def release(self) -> None:
        """Release the lease."""
        session = CONVERSATION_PREFIX + self.conversation
        try:
            await self.store.take_over(session, LEASE_KEY, self.process.name, _NO_OWNER)
        finally:
            _LEASED.discard((self.workspace, self.conversation))

    def _in_use(self, holder: str) -> Exception:
        return messages.CONVERSATION_IN_USE.error(session=self.conversation, holder=holder)


def in_use_error(conversation: str, owner: str) -> Exception:
    """Return the error that another process works in a conversation."""
    return messages.CONVERSATION_IN_USE.error(session=conversation, holder=_describe_process(owner))


def _describe_process(name: str) -> str:
    """Return the process number from a process name, which has machine, boot, number and start."""
    parts = name.split("/")
    return f"pid {parts[2]}" if len(parts) == 4 and parts[2].isdecimal() else name


async def load_stored(rt: Runtime, agent: str, session: str) -> Conversation:
    """Return the stored conversation for an agent that continues it."""
    stored = await load_conversation(session, rt.store)
    if stored.state.get("secrets_shown"):
        rt.session.note_secrets()
    forget_compacted_reads(rt, agent, stored)
    return stored


async def reload_changed(
    rt: Runtime, agent: str, known: Conversation, on_event: Listener | None
) -> Conversation:
    """Return the current conversation for an agent that has its lease again: the one in memory, or,
    with a notification, the stored one if others have changed it.
    """
    # Writes of a cancelled task may still be queued.
    await known.flush()
    if known.matches(await load_conversation(known.id, rt.store)):
        return known
    stored = await load_stored(rt, agent, known.id)
    await ConversationRewinder(rt, agent, known).adopt(stored)
    text = f"the session was changed elsewhere; it goes on from the end of turn {stored.turn}"
    rt.emit(Notification("changed_elsewhere", text), on_event)
    return stored
