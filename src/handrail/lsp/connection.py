"""Messages to and from one server: JSON-RPC in frames of limited size, answered in any order.

There is no reader task: the caller that waits for an answer reads what arrives. Requests of a
server are never carried out, so a server cannot act through this client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio

from handrail.core.ports.processes import ProcessChannel
from handrail.core.problems import ProblemRaised
from handrail.core.text.nesting import parse_json
from handrail.core.text.safe_text import safe_text
from handrail.lsp import messages

_MAX_FRAME: Final = 32 << 20
_MAX_HEADER: Final = 4096
_LENGTH: Final = re.compile(rb"(?i)^content-length: *(\d{1,9})\r?$", re.MULTILINE)
_METHOD_NOT_FOUND: Final = -32601
_REPLY_S: Final = 5.0
# Requests of servers, each with an answer that does nothing.
_HARMLESS: Final[Mapping[str, Any]] = {
    "client/registerCapability": None,
    "client/unregisterCapability": None,
    "window/workDoneProgress/create": None,
    "window/showMessageRequest": None,
    "workspace/applyEdit": {"applied": False, "failureReason": "not allowed"},
    "window/showDocument": {"success": False},
}


class RemoteError(Exception):
    """An error that a server returned."""

    def __init__(self, code: int, message: str, data: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ServerConnection:
    """A JSON-RPC connection over a program's stdin and stdout.

    `configure` answers `workspace/configuration`; `on_notification` gets what the server reports.
    """

    def __init__(
        self,
        name: str,
        channel: ProcessChannel,
        configure: Callable[[str], Any],
        on_notification: Callable[[str, Mapping[str, Any]], None],
    ) -> None:
        self._name = name
        self._channel = channel
        self._configure = configure
        self._on_notification = on_notification
        self._turn = anyio.Lock()
        self._next = 0
        # None: the request was sent and not answered yet.
        self._answers: dict[int, Mapping[str, Any] | None] = {}
        self._length: int | None = None
        self.ended = False

    async def request(self, method: str, params: Any, timeout_s: float) -> Any:
        """Return the result of a request. Raises RemoteError, `timeout` or `unavailable`."""
        self._next += 1
        number = self._next
        self._answers[number] = None
        try:
            with anyio.fail_after(timeout_s):
                await self._send({"id": number, "method": method, "params": params})
                await self.pump_until(lambda: self._answers[number] is not None)
        except TimeoutError:
            raise messages.NO_ANSWER.error(
                server=self._name, method=method, seconds=timeout_s
            ) from None
        finally:
            answer = self._answers.pop(number)
        if answer is None:
            raise self.problem()
        error = answer.get("error")
        if isinstance(error, Mapping):
            code = error.get("code")
            text = safe_text(str(error.get("message", ""))[:500], one_line=True)
            raise RemoteError(code if isinstance(code, int) else 0, text, error.get("data"))
        return answer.get("result")

    async def notify(self, method: str, params: Any, timeout_s: float) -> None:
        """Send a notification. Raises `timeout`, which closes the connection, or `unavailable`."""
        try:
            with anyio.fail_after(timeout_s):
                await self._send({"method": method, "params": params})
        except TimeoutError:
            # Part of the notification may have been sent, and the server must not miss it.
            self.ended = True
            raise messages.NOT_READ.error(
                server=self._name, method=method, seconds=timeout_s
            ) from None

    async def pump_until(self, done: Callable[[], bool]) -> None:
        """Read what arrives until `done` or until the server has ended."""
        while not done() and not self.ended:
            async with self._turn:
                if not done() and not self.ended:
                    await self._receive()

    async def pump_waiting(self) -> None:
        """Read what has already arrived."""
        with anyio.move_on_after(0.001):
            await self.pump_until(lambda: False)

    def problem(self) -> ProblemRaised:
        """Return the problem of a server that has ended."""
        lines = self._channel.stderr.decode("utf-8", "replace").strip().splitlines()
        details = f": {safe_text(lines[-1][:300], one_line=True)}" if lines else ""
        return messages.SERVER_ENDED.error(server=self._name, details=details)

    async def _send(self, message: Mapping[str, Any]) -> None:
        frame = _frame(message)
        if self.ended:
            raise self.problem()
        failed = False
        try:
            async with anyio.create_task_group() as group:
                # A server that waits for its own output to be read does not read either.
                group.start_soon(self.pump_until, lambda: False)
                await self._channel.send(frame)
                group.cancel_scope.cancel()
        except* ProblemRaised:
            failed = True
        if failed:
            self.ended = True
            raise self.problem()

    async def _receive(self) -> None:
        """Read one message; can be cancelled between header and body and continued later."""
        if self._length is None:
            try:
                header = await self._channel.receive_until(b"\r\n\r\n", _MAX_HEADER)
            except ProblemRaised as raised:
                self.ended = True
                reason = "its header is too long"
                raise messages.BAD_MESSAGE.error(server=self._name, reason=reason) from raised
            found = _LENGTH.search(header)
            if not header:
                self.ended = True
                return
            if found is None or int(found[1]) > _MAX_FRAME:
                self.ended = True
                raise messages.BAD_MESSAGE.error(server=self._name, reason="its length is invalid")
            self._length = int(found[1])
        body = await self._channel.receive_exactly(self._length)
        self.ended = not body
        self._length = None
        if body:
            await self._dispatch(self._decode(body))

    def _decode(self, body: bytes) -> Mapping[str, Any]:
        try:
            message = parse_json(body)
        except ValueError as error:
            self.ended = True
            raise messages.BAD_MESSAGE.error(server=self._name, reason="it is not JSON") from error
        return message if isinstance(message, dict) else {}

    async def _dispatch(self, message: Mapping[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            if isinstance(number, int) and number in self._answers:
                self._answers[number] = message
            return
        params = message.get("params")
        if number is None:
            self._on_notification(method, params if isinstance(params, dict) else {})
            return
        frame = _frame({"id": number, **self._reply(method, params)})
        # The reader may be cancelled at any time; half an answer would break the connection.
        with anyio.CancelScope(shield=True), anyio.move_on_after(_REPLY_S):
            await self._channel.send(frame)

    def _reply(self, method: str, params: Any) -> dict[str, Any]:
        """Return the answer to a request of the server: settings, or that nothing was done."""
        if method == "workspace/configuration" and isinstance(params, dict):
            items = params.get("items")
            asked = items if isinstance(items, list) else []
            sections = [one.get("section") if isinstance(one, dict) else None for one in asked]
            return {"result": [self._configure(str(one or "")) for one in sections]}
        if method in _HARMLESS:
            return {"result": _HARMLESS[method]}
        return {"error": {"code": _METHOD_NOT_FOUND, "message": f"{method} is not supported"}}


def _frame(message: Mapping[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
