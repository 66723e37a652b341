"""Serves one editor over standard input and output until it disconnects or a signal arrives."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import anyio
from acp import RequestError
from acp.connection import Connection
from acp.meta import AGENT_METHODS
from acp.schema import (
    CancelNotification,
    CloseSessionRequest,
    ForkSessionRequest,
    InitializeRequest,
    ListSessionsRequest,
    LoadSessionRequest,
    NewSessionRequest,
    PromptRequest,
    ResumeSessionRequest,
    SetSessionModeRequest,
)
from pydantic import BaseModel, ValidationError

from handrail.acp import messages
from handrail.acp.editor_session import EditorServices
from handrail.acp.line_transport import LineTransport
from handrail.acp.session_methods import SessionMethods
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.host.stdio_lines import Pipe, open_stdio
from handrail.host.stop_signals import stop_on_signal

_log = logging.getLogger("handrail")
_CODES: Final = {"invalid_arguments": -32602, "not_found": -32002, "conflict": -32600}
_INTERNAL: Final = -32603


class _Route(NamedTuple):
    model: type[BaseModel]
    run: Callable[[Any], Awaitable[Any]]


class EditorServer:
    """Answers the requests of one editor."""

    def __init__(self, services: EditorServices, pipe: Pipe) -> None:
        self._connection = Connection(self._handle, LineTransport(pipe), listening=False)
        self._methods = methods = SessionMethods(services, self._connection)
        self._requests = {
            AGENT_METHODS[name]: route
            for name, route in {
                "initialize": _Route(InitializeRequest, methods.initialize),
                "session_new": _Route(NewSessionRequest, methods.new),
                "session_load": _Route(LoadSessionRequest, methods.load),
                "session_resume": _Route(ResumeSessionRequest, methods.resume),
                "session_fork": _Route(ForkSessionRequest, methods.fork),
                "session_list": _Route(ListSessionsRequest, methods.list),
                "session_close": _Route(CloseSessionRequest, methods.close),
                "session_set_mode": _Route(SetSessionModeRequest, methods.set_mode),
                "session_prompt": _Route(PromptRequest, methods.prompt),
            }.items()
        }
        self._notifications = {
            AGENT_METHODS["session_cancel"]: _Route(CancelNotification, methods.cancel)
        }

    async def serve(self) -> None:
        """Serve until the editor disconnects."""
        try:
            await self._connection.main_loop()
        finally:
            with anyio.CancelScope(shield=True):
                await self._connection.close()
                await self._methods.aclose()

    async def _handle(self, method: str, params: Any, notification: bool) -> Any:
        if notification:
            await self._notify(method, params)
            return None
        route = self._requests.get(method)
        if route is None:
            raise RequestError.method_not_found(safe_text(method[:200], one_line=True))
        try:
            return await route.run(_parse(route.model, params))
        except ProblemRaised as raised:
            raise _request_error(raised.problem) from raised
        except RequestError:
            raise
        except Exception as error:
            _log.exception("%s failed", method)
            raise _request_error(messages.REQUEST_FAILED.fill()) from error

    async def _notify(self, method: str, params: Any) -> None:
        route = self._notifications.get(method)
        if route is None:
            if not method.startswith("$/"):
                _log.warning("the editor sent an unknown notification %r", method[:200])
            return
        try:
            await route.run(_parse(route.model, params))
        except (ProblemRaised, RequestError) as error:
            _log.warning("%s: %s", method, error)


def _parse(model: type[BaseModel], params: Any) -> BaseModel:
    try:
        return model.model_validate(params or {})
    except ValidationError as error:
        errors = [
            {"field": ".".join(map(str, item["loc"])), "message": item["msg"]}
            for item in error.errors(include_input=False, include_url=False)
        ]
        raise RequestError.invalid_params({"errors": errors[:20]}) from error


def _request_error(problem: Problem) -> RequestError:
    """Return the error of the protocol; its message is for the user, its data has the problem."""
    text = problem.message if problem.hint is None else f"{problem.message} ({problem.hint})"
    return RequestError(_CODES.get(problem.code, _INTERNAL), safe_text(text), problem.to_dict())


async def serve_editor(services: EditorServices) -> None:
    """Serve the editor that has started this process."""
    pipe = await open_stdio()
    with anyio.CancelScope() as scope, stop_on_signal(scope.cancel):
        await EditorServer(services, pipe).serve()
