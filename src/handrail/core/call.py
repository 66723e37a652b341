"""A tool call as the caller made it, before it is parsed; and the ids of calls.

Ids come from providers and clients and become names in the record, in file names, events and
terminals, so only plain ones are accepted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from handrail.core.problems import ProblemRaised

MAIN_AGENT: Final = "main"
MAX_CALL_ID: Final = 256
_CALL_ID: Final = re.compile(rf"[A-Za-z0-9_.:-]{{1,{MAX_CALL_ID}}}")
_CALL_OWNER: Final = re.compile(r"[A-Za-z0-9_:-]{1,64}")
# The id of an agent's call is `OWNER.TURN.NUMBER`; the conversation of a subagent is `CALL-AGENT`.
_AGENT_CALL: Final = re.compile(r"[A-Za-z0-9_.:-]+\.\d+(?:_\d+)?(?:-\d+)?\.\d+")
_SUBAGENT: Final = re.compile(rf"{_AGENT_CALL.pattern}-[A-Za-z0-9_-]+-[0-9a-f]{{8}}")
# What follows the owner in the id of a call, before the parts of subagents and approved plans.
_AFTER_OWNER: Final = re.compile(
    r"\.(?:(?P<turn>\d+)(?:_\d+)?(?:-\d+)?\.\d+|mention-[0-9a-f]+)(?=-|$)"
)
_NOT_IN_OWNER: Final = re.compile(r"[^A-Za-z0-9_-]+")
_OWNER_CHARS: Final = 24


class ToolCall(NamedTuple):
    """One request to run one tool.

    `arguments` is a mapping, or the provider's JSON text, which `prepare` parses and refuses if it
    is not one plain object. `name` is the tool's name in any dialect. `by_person`: the user asked
    for the call, so it needs no approval. `from_model`: the call comes from a model's message and
    may name only tools that were declared to the model. `continues` is the id of an earlier call
    that this one continues; only the runtime sets it. `conversation` is the conversation whose model
    makes the call, empty outside of one.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    turn: int = 0
    agent: str = MAIN_AGENT
    by_person: bool = False
    from_model: bool = False
    continues: str | None = None
    conversation: str = ""

    @property
    def reader(self) -> str:
        """The reader of the result: the agent and its conversation."""
        return reader_name(self.agent, self.conversation)


def reader_name(agent: str, conversation: str) -> str:
    """The key of the read state of an agent in a conversation."""
    return f"{agent}@{conversation}" if conversation else agent


def is_call_id(value: object) -> bool:
    """Whether the value can be used as an id: 1 to 256 of `A-Z a-z 0-9 _ . : -`."""
    return isinstance(value, str) and _CALL_ID.fullmatch(value) is not None


def safe_call_id(value: str) -> str:
    """The id if it is valid, otherwise an id made from its hash."""
    if is_call_id(value):
        return value
    return f"id-{_digest(value)[:32]}"


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def call_owner(conversation: str) -> str:
    """The first part of the ids of a conversation's calls (`OWNER.TURN.NUMBER`): the name of the
    conversation, or a similar name with a hash if that name has dots or is not valid in an id. The
    conversation of a subagent keeps its name, although it has dots.
    """
    if _CALL_OWNER.fullmatch(conversation) or _SUBAGENT.fullmatch(conversation):
        return conversation
    similar = _NOT_IN_OWNER.sub("-", conversation[:_OWNER_CHARS]).strip("-") or "session"
    return f"{similar}-{_digest(conversation)[:16]}"


def is_owned(call_id: str, owner: str, after_turn: int = -1) -> bool:
    """Whether a call belongs to the conversation of an owner, or to a subagent below it, by the form of its
    id; with `after_turn`, to a later turn. A program may give other calls an id that begins alike.
    """
    found = _AFTER_OWNER.match(call_id, len(owner)) if call_id.startswith(owner) else None
    return found is not None and int(found["turn"] or 0) > after_turn


def is_agent_call(call_id: str) -> bool:
    """Whether the id has the form of an id that an agent gave to its call."""
    return _AGENT_CALL.fullmatch(call_id) is not None


def is_under(call_id: str, ids: Collection[str]) -> bool:
    """Whether a call is one of `ids` or was caused by one of them: made by a subagent that it started
    (`CALL-AGENT.TURN…`), or run because the user approved a plan.
    """
    ends = [number for number, char in enumerate(call_id) if char == "-"]
    return any(call_id[:end] in ids for end in (*ends, len(call_id)))


def check_call_id(value: Any) -> str:
    """Return the id that a program gave; raises `invalid_arguments` if it is not valid."""
    if is_call_id(value):
        return str(value)
    if not isinstance(value, str):
        what = f"is a {type(value).__name__}"
    elif not 1 <= len(value) <= MAX_CALL_ID:
        what = f"has {len(value):,} characters"
    else:
        what = f"is {value!r}"
    raise ProblemRaised(
        "invalid_arguments",
        f"the id of a call {what}",
        hint=f"an id is text of 1 to {MAX_CALL_ID} letters, digits, _ . : or -",
        field="id",
    )
