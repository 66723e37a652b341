"""Request handlers for the SDK's low-level server: list tools, call tools, set the log level.

Handlers catch only the exceptions they name; the SDK turns all others into error responses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    CallToolRequestParams,
    ElicitResult,
    EmptyResult,
    LoggingLevel,
    PaginatedRequestParams,
    SetLevelRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from handrail import __version__
from handrail.core.events import CallProgress
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.engine.prepare.arguments import exceeds_limit, too_large
from handrail.mcp.server.config import list_tools
from handrail.mcp.server.elicitation import Elicitation, HandshakeChannel, supports_elicitation
from handrail.mcp.server.pending import ApprovalQuestion, PendingMcpCall
from handrail.mcp.server.reports import LEVELS, WAITING_FOR_APPROVAL, ProgressReporter, wire_result
from handrail.mcp.server.session import ClientSession, client_roots

if TYPE_CHECKING:
    from handrail.engine.runtime import Runtime

Context = ServerRequestContext[Any, Any]
KEY: Final = "handrail/call-id"
_QUESTION: Final = "approval"
_MAX_KEY: Final = 200
_INSTRUCTIONS: Final = (
    "File, search and command tools of one workspace. Changes are recorded and can be undone; "
    "commands are confined as far as this machine can; some calls need the user's approval. A refusal "
    "says what to do instead."
)


class ToolServer:
    """The SDK server of one configuration.

    `find` returns the session of a request; `approves` returns whether its sender may answer
    approval questions.
    """

    def __init__(
        self,
        find: Callable[[Context], ClientSession],
        approves: Callable[[Context], bool] = lambda ctx: True,
    ) -> None:
        self._find = find
        self._approves = approves
        self._bus = InMemorySubscriptionBus()
        self.sdk = _Sdk(
            "handrail",
            version=__version__,
            title="Handrail",
            instructions=_INSTRUCTIONS,
            on_subscriptions_listen=ListenHandler(self._bus, max_subscriptions=64),
        )
        # The default middleware opens a tracing span per message, which costs more than a small call.
        self.sdk.middleware.clear()
        self.sdk.add_request_handler("tools/list", PaginatedRequestParams, self._list)
        self.sdk.add_request_handler("tools/call", CallToolRequestParams, self._call)
        self.sdk.add_request_handler("logging/setLevel", SetLevelRequestParams, self._set_level)
        # Without this lookup the SDK lists all tools before each HTTP call to check headers.
        self._schemas: dict[str, dict[str, Any]] = {}
        self.sdk.get_tool_input_schema = self._schemas.get

    async def _list(self, ctx: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        del params
        session = self._session(ctx)
        runtime = await self._runtime(ctx, session)
        tools = list_tools(runtime, session.offer)
        self._schemas.update((tool["name"], tool["inputSchema"]) for tool in tools)
        # Required by newer protocol versions; the SDK removes the fields for older ones.
        return {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def _set_level(self, ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
        self._session(ctx).level = params.level
        return EmptyResult()

    async def _call(self, ctx: Context, params: CallToolRequestParams) -> dict[str, Any]:
        session = self._session(ctx)
        runtime = await self._runtime(ctx, session)
        reports = ProgressReporter(
            ctx,
            progress=_wants_progress(ctx),
            level=_level(ctx, session),
            is_waiting=session.approver.is_waiting,
        )
        pending = self._resumed(ctx, session, params)
        if pending is None:
            pending = self._started(ctx, session, runtime, params, reports)
        pending.reports = reports
        async with reports:
            outcome = await pending.outcome()
        if isinstance(outcome, ToolResult):
            return wire_result(outcome, structured=session.offer.structured)
        session.park(outcome.state, pending)
        return _input_required(outcome)

    def _started(
        self,
        ctx: Context,
        session: ClientSession,
        runtime: Runtime,
        params: CallToolRequestParams,
        reports: ProgressReporter,
    ) -> PendingMcpCall:
        if session.crowded:
            raise MCPError(INTERNAL_ERROR, "too many calls are in flight; wait for some of them")
        call_id = session.call_id(ctx.request_id, _key(ctx))
        arguments = params.arguments or {}
        if exceeds_limit(arguments):
            raise MCPError(INVALID_PARAMS, str(too_large()))
        repeated = session.in_flight(call_id)
        if repeated is not None and repeated.is_same(params.name, arguments):
            return repeated
        asks = supports_elicitation(ctx) and self._approves(ctx)
        pending = PendingMcpCall(params.name, arguments, can_ask=asks)
        channel = pending if _modern(ctx) else HandshakeChannel(ctx, can_ask=asks)
        approver = session.approver
        listener = (lambda event: _report_event(pending, event)) if reports.wanted or asks else None

        async def call() -> ToolResult:
            waits = CallProgress(call_id, params.name, WAITING_FOR_APPROVAL)
            approver.connect(call_id, channel, lambda: _report_event(pending, waits))
            try:
                return await runtime.call(params.name, arguments, id=call_id, on_event=listener)
            finally:
                approver.disconnect(call_id, channel)

        session.start(call_id, pending, call())
        return pending

    def _resumed(
        self, ctx: Context, session: ClientSession, params: CallToolRequestParams
    ) -> PendingMcpCall | None:
        """Return the waiting call that this request answers, or None."""
        if params.request_state is None:
            return None
        pending = session.parked(params.request_state)
        if pending is None or not pending.is_same(params.name, params.arguments or {}):
            raise MCPError(INVALID_PARAMS, "there is no open question about this call")
        response = (params.input_responses or {}).get(_QUESTION)
        if isinstance(response, ElicitResult):
            if not self._approves(ctx):
                raise MCPError(INVALID_REQUEST, "the sender may make calls but not approve them")
            if pending.state == params.request_state:
                content = cast("dict[str, object] | None", response.content)
                pending.reply(Elicitation(response.action, content))
        # Without an answer to the open question, the question is asked again.
        return pending

    async def _runtime(self, ctx: Context, session: ClientSession) -> Runtime:
        async def roots() -> list[str]:
            return await client_roots(ctx) if session.offer.client_roots else []

        try:
            return await session.runtime(roots)
        except ProblemRaised as raised:
            raise MCPError(INTERNAL_ERROR, str(raised.problem)) from raised

    def _session(self, ctx: Context) -> ClientSession:
        session = self._find(ctx)
        session.client = ctx.session
        session.on_tools_changed = self._tools_changed
        return session

    async def _tools_changed(self) -> None:
        await self._bus.publish(ToolsListChanged())


class _Sdk(Server[Any]):
    """The SDK server; the HTTP transport creates its options itself, so defaults are set here."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *rest: Any, **more: Any
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, *rest, **more)


def _report_event(pending: PendingMcpCall, event: Any) -> None:
    if pending.reports is not None:
        pending.reports(event)


def _modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _wants_progress(ctx: Context) -> bool:
    return ctx.meta is not None and "progress_token" in ctx.meta


def _level(ctx: Context, session: ClientSession) -> LoggingLevel | None:
    if not _modern(ctx):
        return session.level
    requested = (ctx.meta or {}).get(LOG_LEVEL_META_KEY)
    return requested if requested in LEVELS else None


def _key(ctx: Context) -> str | None:
    key = (ctx.meta or {}).get(KEY)
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= _MAX_KEY or not key.isprintable():
        raise MCPError(
            INVALID_PARAMS, f"_meta {KEY!r} must be 1 to {_MAX_KEY} printable characters"
        )
    return key


def _input_required(question: ApprovalQuestion) -> dict[str, Any]:
    message, schema = question.form
    form = {"mode": "form", "message": message, "requestedSchema": schema}
    return {
        "resultType": "input_required",
        "inputRequests": {_QUESTION: {"method": "elicitation/create", "params": form}},
        "requestState": question.state,
    }
