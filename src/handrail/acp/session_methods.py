"""The methods of the protocol that concern sessions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from acp.connection import Connection
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AgentCapabilities,
    CancelNotification,
    CloseSessionRequest,
    CloseSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    PromptCapabilities,
    PromptRequest,
    PromptResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionModeRequest,
    SetSessionModeResponse,
)

from handrail import __version__
from handrail.acp import messages
from handrail.acp.client import EditorClient
from handrail.acp.editor_session import EditorServices, EditorSession
from handrail.acp.prompt_text import read_prompt
from handrail.agent.conversation import new_conversation_id
from handrail.core.text.safe_text import safe_text

_log = logging.getLogger("handrail")
# The maximum of sessions with a runtime; a further idle one is closed, and its next prompt opens it
# again.
_MAX_OPEN: Final = 8
_MAX_LISTED: Final = 200


class SessionMethods:
    """The sessions of one editor."""

    def __init__(self, services: EditorServices, connection: Connection) -> None:
        self._services = services
        self._connection = connection
        # The most recently used session is last.
        self._sessions: dict[str, EditorSession] = {}

    async def initialize(self, request: InitializeRequest) -> InitializeResponse:
        """Return what this agent can do."""
        capabilities = AgentCapabilities(
            load_session=True,
            prompt_capabilities=PromptCapabilities(embedded_context=True),
            session_capabilities=SessionCapabilities(
                list=SessionListCapabilities(),
                fork=SessionForkCapabilities(),
                resume=SessionResumeCapabilities(),
                close=SessionCloseCapabilities(),
            ),
        )
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=capabilities,
            agent_info=Implementation(name="handrail", title="Handrail", version=__version__),
            auth_methods=[],
        )

    async def new(self, request: NewSessionRequest) -> NewSessionResponse:
        """Begin a session in a directory."""
        session = self._add(new_conversation_id(), find_root(request.cwd), request.mcp_servers)
        return NewSessionResponse(session_id=session.id, modes=session.modes)

    async def load(self, request: LoadSessionRequest) -> LoadSessionResponse:
        """Open a recorded session and send its conversation."""
        session = await self._open(request)
        session.check_idle()
        await session.replay()
        return LoadSessionResponse(modes=session.modes)

    async def resume(self, request: ResumeSessionRequest) -> ResumeSessionResponse:
        """Open a recorded session without sending its conversation."""
        return ResumeSessionResponse(modes=(await self._open(request)).modes)

    async def fork(self, request: ForkSessionRequest) -> ForkSessionResponse:
        """Begin a session with the conversation of another one."""
        original = await self._open(request)
        session = self._add(await original.fork(), original.root, request.mcp_servers)
        return ForkSessionResponse(session_id=session.id, modes=session.modes)

    async def list(self, request: ListSessionsRequest) -> ListSessionsResponse:
        """The recorded sessions of a directory, else those of the directories of open sessions."""
        records = {session.root: session.record for session in self._sessions.values()}
        if request.cwd is not None:
            root = find_root(request.cwd)
            records = {root: self._services.open_record(root)}
        listed = [
            (session.at_ns, _session_info(session, root))
            for root, record in records.items()
            for session in (await record.list_conversations())[:_MAX_LISTED]
        ]
        newest = sorted(listed, key=lambda session: session[0], reverse=True)[:_MAX_LISTED]
        return ListSessionsResponse(sessions=[info for _, info in newest])

    async def close(self, request: CloseSessionRequest) -> CloseSessionResponse:
        """Cancel the work of a session and forget it; its record stays."""
        session = self._find(request.session_id)
        del self._sessions[session.id]
        await session.aclose()
        return CloseSessionResponse()

    async def set_mode(self, request: SetSessionModeRequest) -> SetSessionModeResponse:
        """Use another mode."""
        await self._find(request.session_id).set_mode(request.mode_id)
        return SetSessionModeResponse()

    async def prompt(self, request: PromptRequest) -> PromptResponse:
        """Let the model work on a prompt."""
        session = self._find(request.session_id)
        session.check_idle()
        task = read_prompt(request.prompt, session.root)
        self._sessions[session.id] = self._sessions.pop(session.id)
        return await session.prompt(task)

    async def cancel(self, request: CancelNotification) -> None:
        """End the running prompt of a session."""
        self._find(request.session_id).cancel()

    async def aclose(self) -> None:
        """Close all sessions."""
        for session in list(self._sessions.values()):
            await session.aclose()
        self._sessions.clear()

    def _find(self, id: str) -> EditorSession:
        session = self._sessions.get(id)
        if session is None:
            raise messages.UNKNOWN_SESSION.error(session=id, field="sessionId")
        return session

    def _add(self, id: str, root: Path, servers: Sequence[Any] | None) -> EditorSession:
        if servers:
            names = ", ".join(str(server.name) for server in servers)
            _log.warning(
                "MCP servers of the editor are not started: %s; add them with `handrail mcp add`",
                safe_text(names[:500], one_line=True),
            )
        client = EditorClient(self._connection, id)
        session = EditorSession(id, root, self._services, client, self._make_room)
        self._sessions[id] = session
        return session

    async def _open(
        self, request: LoadSessionRequest | ResumeSessionRequest | ForkSessionRequest
    ) -> EditorSession:
        """Return a session of this process, or one of the record; raises `not_found`."""
        id, root = request.session_id, find_root(request.cwd)
        session = self._sessions.get(id)
        if session is None:
            # Raises for an id that is not in the record of this directory.
            await self._services.open_record(root).load_conversation(id)
            return self._sessions.get(id) or self._add(id, root, request.mcp_servers)
        if session.root != root:
            raise messages.OTHER_WORKSPACE.error(session=id, path=str(root), field="cwd")
        return session

    async def _make_room(self, session: EditorSession) -> None:
        """Close runtimes of idle sessions, the least recently used first."""
        others = [
            other for other in self._sessions.values() if other.is_open and other is not session
        ]
        for other in others[: max(0, len(others) + 1 - _MAX_OPEN)]:
            if not other.busy:
                await other.close_runtime()


def find_root(cwd: str) -> Path:
    """Return the directory of a session; raises `invalid_arguments` if it cannot be a workspace."""
    directory = Path(cwd)
    try:
        root = directory.resolve(strict=True)
        if directory.is_absolute() and root.is_dir():
            return root
    except (OSError, RuntimeError, ValueError):
        pass
    raise messages.NOT_A_WORKSPACE.error(path=cwd[:300], field="cwd")


def _session_info(summary: Any, root: Path) -> SessionInfo:
    at = datetime.fromtimestamp(summary.at_ns / 1e9, UTC).isoformat()
    title = safe_text(summary.title, one_line=True)
    return SessionInfo(session_id=summary.session, cwd=str(root), title=title, updated_at=at)
