"""The ids of subagents and of their calls."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from handrail.core.call import MAX_CALL_ID, ToolCall

_HASH_CHARS: Final = 8
# How many characters of a type's name are part of the ids of its agents. The ids of nested agents' calls
# contain several of these ids and must stay short enough.
_MAX_NAME: Final = 24
# Room in the ids of a subagent's calls for turns and positions.
_CALL_SUFFIX: Final = 40


def new_agent_id(type_name: str, call: str) -> str:
    """Return the id of a new subagent; `call` identifies the call that starts it."""
    return f"{type_name[:_MAX_NAME].rstrip('-')}-{sha256(call.encode()).hexdigest()[:_HASH_CHARS]}"


def call_prefix(call: ToolCall, agent_id: str) -> str:
    """The prefix of the ids of a subagent's calls, which is also the id of the conversation of a subagent
    that `call` starts. The calls belong to the turn of `call`: a rewind of that turn reverts them.
    """
    fits = len(call.id) + len(agent_id) + _CALL_SUFFIX < MAX_CALL_ID
    return f"{call.id}-{agent_id}" if call.conversation and fits else agent_id


def call_of_prefix(prefix: str, agent_id: str) -> str:
    """The id of the call that started or continued a subagent, from the prefix of its calls."""
    return prefix.removesuffix(f"-{agent_id}")
