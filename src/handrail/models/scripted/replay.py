"""Recorded HTTP exchanges: replayed byte for byte, and written without keys."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from handrail.core.ports.models import ModelFailed, ModelLimits
from handrail.core.problems import ProblemRaised
from handrail.models.client import Endpoint, WireModel
from handrail.models.scripted.replies import ScriptedReply
from handrail.models.scripted.script_model import StoredReply, read_no_key
from handrail.models.transport import HttpReply, Transport
from handrail.models.wires.formats import FORMATS
from handrail.models.wires.requests import WireOptions

_PATHS: Final[Mapping[str, str]] = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/messages": "anthropic",
    ":streamGenerateContent": "gemini",
}
# Response headers that are recorded.
_KEPT: Final = frozenset({"content-type", "retry-after", "retry-after-ms"})


def replay_model(name: str, data: bytes, wire: str | None = None) -> WireModel:
    """Return a model that answers from the recording, one exchange per request; raises
    `invalid_arguments` for an invalid recording.
    """
    replies, recorded_wire = read_recording(name, data)
    chosen = wire or recorded_wire or ""
    if chosen not in FORMATS:
        raise ProblemRaised(
            "invalid_arguments",
            f"the wire format of the recording {name} is not known",
            hint=f"append ?wire= and one of {', '.join(FORMATS)}",
        )
    model = WireModel(
        name,
        FORMATS[chosen],
        WireOptions("recorded"),
        Endpoint("replay://local", read_no_key, {}),
        ReplayTransport(replies),
        ModelLimits(context_known=True),
    )
    model.scripted = True
    return model


def read_recording(name: str, data: bytes) -> tuple[list[ScriptedReply], str | None]:
    """The replies of a recording and its wire format. Data that is not JSON is one event stream."""
    try:
        recorded = json.loads(data)
        exchanges = recorded["interactions"]
        replies = [_read_reply(exchange["response"]) for exchange in exchanges]
        urls = [str(exchange["request"]["url"]) for exchange in exchanges]
    except ValueError:
        return [ScriptedReply(200, {"content-type": "text/event-stream"}, [data])], None
    except (KeyError, TypeError) as error:
        raise ProblemRaised(
            "invalid_arguments", f"{name} is no recording: {type(error).__name__}: {error}"
        ) from error
    paths = [urlsplit(url).path for url in urls]
    wires = [wire for path in paths for end, wire in _PATHS.items() if path.endswith(end)]
    return replies, wires[0] if wires else None


def _read_reply(response: Mapping[str, Any]) -> ScriptedReply:
    if "body_base64" in response:
        body = base64.b64decode(response["body_base64"])
    else:
        body = str(response["body"]).encode()
    headers = {str(name).lower(): str(value) for name, value in response["headers"].items()}
    return ScriptedReply(int(response["status"]), headers, [body])


class ReplayTransport:
    """Answers requests with recorded bytes, in order."""

    def __init__(self, replies: Sequence[ScriptedReply]) -> None:
        self._replies = list(replies)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """Return the next recorded reply; raises `ModelFailed` after the last one."""
        if not self._replies:
            raise ModelFailed("network", "the recording has no further exchange")
        return StoredReply(self._replies.pop(0))

    async def aclose(self) -> None:
        """Nothing to close."""


class RecordingTransport:
    """Forwards requests and records each exchange for `replay:`, without the secrets and without
    headers that contain keys.
    """

    def __init__(self, inner: Transport, secrets: Callable[[], Sequence[str]]) -> None:
        self._inner = inner
        self._secrets = secrets
        self._exchanges: list[dict[str, Any]] = []

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """Send a request; its response is recorded while it is read."""
        reply = await self._inner.post(url, headers, body)
        recorded_headers = {name: value for name, value in reply.headers.items() if name in _KEPT}
        received = bytearray()
        request = {"method": "POST", "url": url, "body": body.decode("utf-8", "replace")}
        response: dict[str, Any] = {
            "status": reply.status,
            "headers": recorded_headers,
            "body": received,
        }
        self._exchanges.append({"request": request, "response": response})
        return _RecordedReply(reply, received)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    def recording(self) -> bytes:
        """Return what was recorded so far, as the content of a file."""
        exchanges = [
            {"request": exchange["request"], "response": _response_to_json(exchange["response"])}
            for exchange in self._exchanges
        ]
        text = json.dumps({"version": 1, "interactions": exchanges}, ensure_ascii=False, indent=1)
        for secret in self._secrets():
            if len(secret) >= 4:
                text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "[key]")
        return text.encode("utf-8", "replace")


class _RecordedReply:
    def __init__(self, inner: HttpReply, received: bytearray) -> None:
        self._inner = inner
        self._received = received
        self.status: int = inner.status
        self.headers: Mapping[str, str] = inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            self._received += chunk
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _response_to_json(response: Mapping[str, Any]) -> dict[str, Any]:
    body = bytes(response["body"])
    fields = {name: value for name, value in response.items() if name != "body"}
    try:
        return {**fields, "body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {**fields, "body_base64": base64.b64encode(body).decode("ascii")}
