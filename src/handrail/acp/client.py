"""What Handrail sends to the editor: updates of a session, and questions to the user."""

from __future__ import annotations

from collections.abc import Sequence

from acp.connection import Connection
from acp.meta import CLIENT_METHODS
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    CurrentModeUpdate,
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionNotification,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
    UserMessageChunk,
)
from pydantic import BaseModel

from handrail.core.text.safe_text import safe_text

SessionUpdate = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | CurrentModeUpdate
    | UsageUpdate
)


class EditorClient:
    """The editor's side of one session."""

    def __init__(self, connection: Connection, session: str) -> None:
        self._connection = connection
        self._session = session

    async def update(self, update: SessionUpdate) -> None:
        """Send an update; raises OSError if the editor has disconnected."""
        sent = SessionNotification(session_id=self._session, update=update)
        await self._connection.send_notification(CLIENT_METHODS["session_update"], _dump(sent))

    async def ask(
        self, call: ToolCallUpdate, options: Sequence[PermissionOption]
    ) -> RequestPermissionResponse:
        """Let the user choose. Raises OSError if the editor has disconnected, `RequestError` if it
        refuses, ValidationError for an invalid answer.
        """
        sent = RequestPermissionRequest(
            session_id=self._session, tool_call=call, options=list(options)
        )
        method = CLIENT_METHODS["session_request_permission"]
        answer = await self._connection.send_request(method, _dump(sent))
        return RequestPermissionResponse.model_validate(answer)


def text_block(text: str) -> TextContentBlock:
    """Return text with every character visible."""
    return TextContentBlock(type="text", text=safe_text(text))


def _dump(model: BaseModel) -> object:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
