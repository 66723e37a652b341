"""Subagents that go on with their conversation, and their way back."""

from __future__ import annotations

from collections.abc import Callable

from handrail.agent.conversation import load_conversation
from handrail.core.ports.records import Store
from handrail.subagents.child import Subagent
from handrail.subagents.ids import call_of_prefix


async def cut_continued(child: Subagent, store: Store, is_cut: Callable[[str], bool]) -> bool:
    """Take a subagent that has ended back to where it was before a cut call continued it; returns
    whether one has.
    """
    conversation = await load_conversation(child.conversation, store)
    calls = [(turn, call_of_prefix(prefix, child.id)) for turn, prefix in conversation.prefixes]
    begun = next((turn for turn, call_id in calls if is_cut(call_id)), None)
    if begun is None:
        return False
    conversation.cut(begun)
    conversation.update(unfinished=False)
    await conversation.flush()
    owner = conversation.prefixes[-1][1] if conversation.prefixes else conversation.id
    said = [one.text for one in conversation.messages if one.role == "assistant"]
    child.call_id = call_of_prefix(owner, child.id)
    child.task, child.context = (conversation.user_texts or (child.task,))[-1], None
    child.text, child.turns = (said or [""])[-1], conversation.turn_count
    child.status, child.problem = "done", None
    return True
