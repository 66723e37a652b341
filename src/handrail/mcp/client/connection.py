"""A connection to one server; a separate task keeps it open until it is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final

import anyio
import mcp_types as types
from mcp import Client, MCPError
from pydantic import TypeAdapter

from handrail.core.context import ToolContext
from handrail.core.ports.processes import Launch, ProcessChannel
from handrail.core.ports.questions import QuestionAsker
from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.mcp.client import messages
from handrail.mcp.client.call_progress import PausedLimit, ProgressReports
from handrail.mcp.client.channel_transport import open_streams
from handrail.mcp.client.direct_calls import DirectCalls
from handrail.mcp.client.manifest import OTHER_PROGRAM, ServerManifest, list_tools
from handrail.mcp.client.sdk_logs import tame_sdk_logs
from handrail.mcp.client.server_questions import ServerQuestions
from handrail.mcp.client.server_spec import (
    HttpRefusal,
    RemoteServerHost,
    RemoteServerSpec,
    find_server_program,
    launch_directory,
    server_confinement,
)

_CLOSE_S: Final = 5.0
# The interval in which the log of a running server is stored.
_LOG_S: Final = 2.0
# How often a server may answer a call with questions.
_MOST_ROUNDS: Final = 10
_STATE_PAUSE_S: Final = 0.1
# The first protocol version in which servers ask questions in results, and requests have more parts.
_ASKS_IN_RESULTS: Final = "2026-07-28"
# The beginning of the SDK's errors about a lost answer over HTTP.
_LOST_ANSWER: Final = "SSE stream "
_RESULT: Final[TypeAdapter[types.CallToolResult | types.InputRequiredResult]] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)


class RemoteConnection:
    """A connection to a server. `open` starts the server and reads its tools."""

    def __init__(self, spec: RemoteServerSpec, host: RemoteServerHost) -> None:
        self._spec = spec
        self._host = host
        self._client: Client | None = None
        self._channel: ProcessChannel | None = None
        self._direct: DirectCalls | None = None
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        # Whether the streams have closed; the task may still be running.
        self._broken = False
        self.manifest: ServerManifest | None = None
        # The questions of the running calls.
        self._questions: list[ServerQuestions] = []
        # Why the last request over HTTP was refused.
        self._refusal: HttpRefusal | None = None
        # Set when the server reports that its tools have changed.
        self.list_changed = False

    @property
    def ended(self) -> bool:
        """Whether the connection can no longer be used."""
        return self._broken or self._task is None or self._task.done()

    @property
    def log(self) -> str:
        """The end of the stderr of the server's program."""
        return "" if self._channel is None else self._channel.stderr.decode("utf-8", "replace")

    async def open(self, fingerprint: str | None = None) -> ServerManifest:
        """Start the server and return its tools; raises `unavailable` or `timeout`. If `fingerprint` is
        given and differs, raises `untrusted` without starting the program.
        """
        ready: asyncio.Future[ServerManifest] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(ready, fingerprint))
        try:
            async with asyncio.timeout(self._spec.start_s):
                self.manifest = await asyncio.shield(ready)
        except TimeoutError:
            await self.close()
            raise messages.START_TIMEOUT.error(
                server=self._spec.name, seconds=self._spec.start_s
            ) from None
        except BaseException:
            await self.close()
            raise
        return self.manifest

    async def list_again(self) -> ServerManifest:
        """Return the current tools of the server; raises `unavailable` or `timeout`."""
        client, spec = self._client, self._spec
        if client is None or self.manifest is None:
            raise messages.ENDED.error(server=spec.name)
        # Reset first: a change that is reported in the meantime may be missing in the list.
        self.list_changed = False
        try:
            async with asyncio.timeout(spec.start_s):
                tools = await list_tools(client, spec.name)
        except TimeoutError:
            self.list_changed = True
            raise messages.CALL_TIMEOUT.error(
                server=spec.name, tool="tools/list", seconds=spec.start_s
            ) from None
        except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            self._broken = True
            raise messages.ENDED.error(server=spec.name) from error
        except BaseException:
            self.list_changed = True
            raise
        return self.manifest._replace(tools=tools)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        ctx: ToolContext,
        asker: QuestionAsker | None,
    ) -> tuple[types.CallToolResult, Collection[str]]:
        """Call a tool; raises `unavailable`, `timeout` or `command_failed`. Questions of the server to the
        user are passed to `asker`. Returns the result, and the reasons why questions were declined without
        the user's decision.
        """
        name, client = self._spec.name, self._client
        if client is None:
            raise messages.ENDED.error(server=name)
        try:
            async with asyncio.timeout(self._spec.call_s) as limit:
                questions = ServerQuestions(name, ctx, asker, PausedLimit(limit))
                self._questions.append(questions)
                try:
                    result = await self._exchange(client, tool, arguments, ctx, questions)
                    return result, questions.declined.keys()
                finally:
                    self._questions.remove(questions)
                    questions.end()
        except TimeoutError:
            raise messages.CALL_TIMEOUT.error(
                server=name, tool=tool, seconds=self._spec.call_s
            ) from None
        except MCPError as error:
            if self._is_lost(error):
                self._broken = True
                raise messages.ENDED.error(server=name) from error
            if self._refusal is not None:
                self._broken = self._refusal.session_lost
                raise self._refusal.problem from error
            quoted = _quote_server_text(error.error.message, 1000)
            raise messages.SERVER_ERROR.error(server=name, tool=tool, message=quoted) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            self._broken = True
            raise messages.ENDED.error(server=name) from error
        except (ValueError, RuntimeError) as error:
            raise messages.SERVER_ERROR.error(
                server=name, tool=tool, message=f"no valid result ({type(error).__name__})"
            ) from error

    def _is_lost(self, error: MCPError) -> bool:
        """Whether an error means that no answer will come; an error of the server may have the same code."""
        if error.error.code != types.CONNECTION_CLOSED:
            return False
        over_http = self._spec.url is not None and error.error.message.startswith(_LOST_ANSWER)
        return self.ended or self._client is None or over_http

    async def _exchange(
        self,
        client: Client,
        tool: str,
        arguments: Mapping[str, Any],
        ctx: ToolContext,
        questions: ServerQuestions,
    ) -> types.CallToolResult:
        """Send the call, and send it again with the user's answers each time the server asks. The result is
        not validated with the server's output schema, whose patterns could run forever.
        """
        report = ProgressReports(ctx)
        if self._direct is not None and client.protocol_version < _ASKS_IN_RESULTS:
            return await self._direct.call(tool, arguments, report.pass_on)
        params = types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        for _ in range(_MOST_ROUNDS):
            request = types.CallToolRequest(params=params)
            result = await client.session.send_request(request, _RESULT, progress_callback=report)
            if isinstance(result, types.CallToolResult):
                return result
            answers: dict[str, Any] = {}
            for key, question in (result.input_requests or {}).items():
                if not isinstance(question, types.ElicitRequest):
                    raise messages.NOT_OFFERED.error(server=self._spec.name, method=question.method)
                answers[key] = await questions.answer(question.params)
            if not answers:
                await asyncio.sleep(_STATE_PAUSE_S)
            changes = {"input_responses": answers or None, "request_state": result.request_state}
            params = params.model_copy(update=changes)
        raise messages.SERVER_ERROR.error(
            server=self._spec.name, tool=tool, message="it does not stop asking"
        )

    async def close(self) -> None:
        """End the server; returns when all its processes have ended."""
        self._stop.set()
        task = self._task
        if task is None or task.done():
            return
        if self._client is not None:
            await asyncio.wait([task], timeout=_CLOSE_S)
        # Cancelled if the server is still starting or does not end in time.
        task.cancel()
        await asyncio.wait([task], timeout=_CLOSE_S)

    async def _hold(self, ready: asyncio.Future[ServerManifest], expected: str | None) -> None:
        """Keep the connection open until `close` or the end of the server."""
        tame_sdk_logs()
        try:
            await self._run(ready, expected)
        except ProblemRaised as raised:
            _fail(ready, raised)
        except Exception as error:  # noqa: BLE001 - whatever a server makes the SDK raise
            cause = _first_cause(error)
            if isinstance(cause, ProblemRaised):
                _fail(ready, cause)
            reason = (
                f"{type(cause).__name__}: {_quote_server_text(str(cause), 500)}{self._last_line()}"
            )
            _fail(ready, messages.NOT_STARTED.error(server=self._spec.name, reason=reason))
        finally:
            self._client = None
            if not ready.done():
                ready.cancel()

    async def _run(self, ready: asyncio.Future[ServerManifest], expected: str | None) -> None:
        spec = self._spec
        host = self._host
        program = None if spec.url is not None else find_server_program(spec, host.find)
        # In a thread, because it reads whole files.
        fingerprint = await asyncio.to_thread(spec.fingerprint, program, host.places)
        if expected is not None and fingerprint != expected:
            raise messages.CHANGED.error(server=spec.name, differences=OTHER_PROGRAM)
        if program is None:
            await self._talk(host.http(spec, self._note_refusal), fingerprint, ready)
            return
        cwd = launch_directory(spec, program, host.places)
        self._channel = channel = await self._start(program, cwd)
        keeping = asyncio.create_task(self._keep_log(channel))
        self._direct = direct = DirectCalls(channel)
        try:
            streams = open_streams(channel, direct.take, self._on_end)
            await self._talk(streams, fingerprint, ready, channel.wait_ended)
        finally:
            keeping.cancel()
            with anyio.CancelScope(shield=True):
                await channel.close()
            host.keep_log(spec, channel.stderr)

    async def _keep_log(self, channel: ProcessChannel) -> None:
        """Store the stderr of the program periodically, because this process may be killed."""
        stored = b""
        while True:
            if channel.stderr != stored:
                stored = channel.stderr
                self._host.keep_log(self._spec, stored)
            await asyncio.sleep(_LOG_S)

    async def _talk(
        self,
        transport: AbstractAsyncContextManager[Any],
        fingerprint: str,
        ready: asyncio.Future[ServerManifest],
        ended: Callable[[], Awaitable[Any]] | None = None,
    ) -> None:
        client = Client(
            transport,
            message_handler=self._on_message,
            elicitation_callback=self._on_question,
            cache=None,
            mode="legacy" if self._spec.legacy else "auto",
        )
        async with client:
            tools = await list_tools(client, self._spec.name)
            self._client = client
            if not ready.done():
                ready.set_result(ServerManifest(fingerprint, tools))
            waits = [asyncio.ensure_future(self._stop.wait())]
            listening = asyncio.ensure_future(self._listen(client))
            if ended is not None:
                waits.append(asyncio.ensure_future(ended()))
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._client = None
                for task in (*waits, listening):
                    task.cancel()

    async def _start(self, program: str, cwd: str) -> ProcessChannel:
        spec, host = self._spec, self._host
        if host.processes is None:
            raise messages.NO_PROGRAMS.error(server=spec.name)
        env = {**host.environment(), **spec.env}
        for variable in spec.env_from:
            if variable not in host.variables:
                raise messages.MISSING_VARIABLE.error(server=spec.name, variable=variable)
            env[variable] = host.variables[variable]
        confinement = server_confinement(spec, program, host.places)
        if not confinement.off and not host.confines():
            raise messages.NOT_CONFINED.error(server=spec.name)
        argv = (program, *spec.command[1:])
        launch = Launch(argv, cwd, env, confinement, None, memory_mb=spec.memory_mb)
        return await host.processes().open(launch)

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes of the server's tools, for servers that report them on request."""
        with suppress(RuntimeError, MCPError, TimeoutError, anyio.ClosedResourceError):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.list_changed = True

    async def _on_question(
        self, context: Any, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """Answer a question that is not part of a result; without a running call it is declined."""
        del context
        if not self._questions:
            return types.ElicitResult(action="decline")
        return await self._questions[0].answer(params)

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.list_changed = True

    def _note_refusal(self, refusal: HttpRefusal | None) -> None:
        self._refusal = refusal

    def _on_end(self) -> None:
        self._broken = True
        if self._direct is not None:
            self._direct.end()

    def _last_line(self) -> str:
        lines = self.log.strip().splitlines()
        return f" (it printed {_quote_server_text(lines[-1], 300)})" if lines else ""


def _fail(ready: asyncio.Future[ServerManifest], error: ProblemRaised) -> None:
    if not ready.done():
        ready.set_exception(error)


def _first_cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _quote_server_text(text: str, limit: int) -> str:
    """The text of a server as one quoted line, so that it cannot be mistaken for text of Handrail."""
    cut = text if len(text) <= limit else f"{text[:limit]}…"
    return '"' + safe_text(cut, one_line=True).replace('"', "'") + '"'
