"""A recorded conversation as updates, for an editor that opens it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ToolCallProgress,
    ToolCallStart,
    UserMessageChunk,
)

from handrail.acp.client import SessionUpdate, text_block
from handrail.acp.tool_cards import CardContent, card_title, tool_kind, verbatim_content
from handrail.agent.projection import ConversationEntry
from handrail.core.ports.models import (
    Block,
    CallBlock,
    Picture,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)


def replay_conversation(entries: Sequence[ConversationEntry]) -> Iterator[SessionUpdate]:
    """Yield the updates, oldest first. A call without a result counts as failed."""
    # The recorded ids of the last message's calls, by the ids of the provider.
    ids: dict[str, str] = {}
    for entry in entries:
        if entry.message.role == "assistant":
            yield from _failed_cards(ids)
            ids = dict(entry.call_ids)
        for block in entry.message.blocks:
            yield from _replay_block(block, entry.message.role == "user", ids)
    yield from _failed_cards(ids)


def _replay_block(block: Block, by_user: bool, ids: dict[str, str]) -> Iterator[SessionUpdate]:
    match block:
        case TextBlock(text) if by_user:
            yield UserMessageChunk(session_update="user_message_chunk", content=text_block(text))
        case TextBlock(text):
            yield AgentMessageChunk(session_update="agent_message_chunk", content=text_block(text))
        case ThinkingBlock(text):
            yield AgentThoughtChunk(session_update="agent_thought_chunk", content=text_block(text))
        case CallBlock(id, name, arguments):
            yield ToolCallStart(
                session_update="tool_call",
                tool_call_id=ids.get(id, id),
                title=card_title(f"{name} {arguments}"),
                kind=tool_kind(name),
                status="pending",
            )
        case ResultBlock(id):
            yield _ended_card(ids.pop(id, id), _result_content(block), failed=block.is_error)
        case Picture():
            pass


def _result_content(block: ResultBlock) -> list[CardContent]:
    texts = (part.text for part in block.blocks if isinstance(part, TextBlock))
    return [verbatim_content(text) for text in texts if text]


def _failed_cards(ids: dict[str, str]) -> Iterator[SessionUpdate]:
    for call_id in ids.values():
        yield _ended_card(call_id, [], failed=True)


def _ended_card(call_id: str, content: list[CardContent], *, failed: bool) -> ToolCallProgress:
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="failed" if failed else "completed",
        content=list(content),
    )
