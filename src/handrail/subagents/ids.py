"""The ids of subagents and of their calls."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from handrail.core.call import MAX_CALL_ID, ToolCall

_HASH_CHARS: Final = 8
# So much of the name of a type is in the ids of its agents, so that the ids of calls of agents below
# agents stay short enough.
_MAX_NAME: Final = 24
# Room in the ids of a subagent's calls for turns and positions.
_CALL_SUFFIX: Final = 40


def new_agent_id(type_name: str, named: str) -> str:
    """The id of the subagent of a type that the call of this name starts."""
    return f"{type_name[:_MAX_NAME].rstrip('-')}-{sha256(named.encode()).hexdigest()[:_HASH_CHARS]}"


def call_prefix(call: ToolCall, agent_id: str) -> str:
    """What the ids of a subagent's calls begin with, and the id of the conversation of one that `call`
    starts. They belong to the turn of the call: a rewind of the turn reverts them.
    """
    fits = len(call.id) + len(agent_id) + _CALL_SUFFIX < MAX_CALL_ID
    return f"{call.id}-{agent_id}" if call.conversation and fits else agent_id


def call_of_prefix(prefix: str, agent_id: str) -> str:
    """The call that has started or continued the subagent."""
    return prefix.removesuffix(f"-{agent_id}")
