"""A conversation as a file: text, calls and results, for reading elsewhere or for continuing it.

Only text is exported: no grants, approvals, trust, mode, read state or reasoning. An imported
conversation continues under the rules and with the system prompt of its new workspace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from handrail.agent import messages
from handrail.agent.conversation import Conversation, KeptConversation
from handrail.core.call import is_call_id
from handrail.core.ports.models import (
    Block,
    CallBlock,
    Message,
    Picture,
    ResultBlock,
    TextBlock,
)
from handrail.core.ports.records import Store

_FORMAT: Final = "handrail-session"
_VERSION: Final = 1
MAX_FILE_BYTES: Final = 64 * 1024 * 1024


def export_conversation(conversation: KeptConversation) -> dict[str, Any]:
    """Return the conversation as JSON values."""
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "title": str(conversation.state.get("title", "")),
        "messages": [
            {"turn": entry.turn, "role": entry.message.role, "blocks": _blocks(entry.message)}
            for entry in conversation.entries
        ],
    }


def import_conversation(exported: Any, id: str, store: Store, now_ns: int) -> Conversation:
    """Return a conversation with a new id from an exported one; raises `invalid_arguments`. Calls
    at the end without results are dropped.
    """
    try:
        _check_format(exported)
        read = [(_message(item), _turn(item)) for item in exported["messages"]]
        _check_order([turn for _, turn in read])
        title = str(exported["title"])[:200]
        while read and read[-1][0].calls:
            read.pop()
        _check_answers([message for message, _ in read])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise messages.NOT_A_SESSION_FILE.error(reason=str(error) or "it is damaged") from error
    conversation = Conversation(id, store)
    for message, turn in read:
        ids = ((call.id, f"{id}.{turn}.{n}") for n, call in enumerate(message.calls, 1))
        conversation.append(message, turn, tuple(ids))
    conversation.note_unsent()
    # It is unknown whether the results contain secrets.
    shown = any(message.role == "tool" for message, _ in read)
    conversation.update(
        title=f"imported: {title}", at_ns=now_ns, unfinished=False, secrets_shown=shown
    )
    return conversation


def _check_format(exported: Mapping[str, Any]) -> None:
    if exported["format"] != _FORMAT or exported["version"] != _VERSION:
        raise ValueError("it is not an exported session of this version")


def _check_order(turns: Sequence[int]) -> None:
    if any(later < earlier for earlier, later in pairwise(turns)):
        raise ValueError("its turns are out of order")


def _blocks(message: Message) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, TextBlock):
            blocks.append({"text": block.text})
        elif isinstance(block, Picture):
            blocks.append({"text": f"[picture, {block.media_type}]"})
        elif isinstance(block, CallBlock):
            call = {"call": block.id, "name": block.name, "arguments": block.arguments_json}
            blocks.append(call)
        elif isinstance(block, ResultBlock):
            blocks.append({"result": block.call_id, "text": block.text, "is_error": block.is_error})
    return blocks


def _turn(item: Mapping[str, Any]) -> int:
    turn = item["turn"]
    if type(turn) is not int or not 0 <= turn < 10**6:
        raise ValueError("a turn is not a number")
    return turn


def _message(item: Mapping[str, Any]) -> Message:
    role = item["role"]
    if role not in ("user", "assistant", "tool"):
        raise ValueError("a message has an unknown role")
    blocks = item["blocks"]
    if not isinstance(blocks, list):
        raise TypeError("the blocks of a message are no list")
    return Message(role, tuple(_block(block, role) for block in blocks))


def _block(item: Mapping[str, Any], role: str) -> Block:
    if "call" in item and role == "assistant":
        id, name, arguments = item["call"], item["name"], item["arguments"]
        if not (is_call_id(id) and isinstance(name, str) and isinstance(arguments, str)):
            raise ValueError("a call is damaged")
        return CallBlock(id, name[:200], arguments)
    text = item["text"]
    if not isinstance(text, str):
        raise TypeError("a text is damaged")
    if "result" in item and role == "tool":
        return ResultBlock(str(item["result"]), (TextBlock(text),), bool(item.get("is_error")))
    if role == "tool" or item.keys() != {"text"}:
        raise ValueError("a block is unknown")
    return TextBlock(text)


def _check_answers(read: Sequence[Message]) -> None:
    """Raise ValueError unless the user begins and results follow their calls, one for each."""
    if read and not (read[0].role == "user" and read[0].text.strip()):
        raise ValueError("its first message is not a text of the user")
    before: list[str] = []
    for message in read:
        results = [block.call_id for block in message.blocks if isinstance(block, ResultBlock)]
        if sorted(results) != before or len(set(results)) < len(results):
            raise ValueError("calls and results do not belong together")
        before = sorted(call.id for call in message.calls)
