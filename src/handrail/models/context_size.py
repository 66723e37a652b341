"""Finds the context size of a model: from the setting, or by asking its server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import quote, urlsplit

from handrail.core.ports.models import ModelFailed, ModelLimits
from handrail.core.text.nesting import parse_json
from handrail.models import messages
from handrail.models.client import Endpoint
from handrail.models.profiles import ModelProfile
from handrail.models.transport import OLLAMA_PORT, HttpReply, HttpTransport, Transport
from handrail.models.wires.formats import FORMATS

_ASK_S: Final = 3.0
_MAX_BYTES: Final = 4 * 1024 * 1024
_MIN_OLLAMA: Final = 16_384
# The default of Ollama if neither the model nor the server sets another.
_OLLAMA_DEFAULT: Final = 4096
_FIELDS: Final = (
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "max_context_length",
    "context_window",
    "max_input_tokens",
    "inputTokenLimit",
)
_NUM_CTX: Final = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


async def detect_limits(
    named: str,
    profile: ModelProfile,
    limits: ModelLimits,
    endpoint: Endpoint,
    transport: Transport,
) -> ModelLimits:
    """Return the limits with the context size that the server reports; the default stays if it
    reports none. Raises `ModelFailed` for an Ollama server that would truncate prompts.
    """
    if profile.context_tokens is not None or not isinstance(transport, HttpTransport):
        return limits
    # A key command may take longer than the server: it may ask the user.
    inquiry = _Inquiry(profile, await _headers(profile, endpoint), transport)
    context = await inquiry.ollama_context()
    if context is not None and context < _MIN_OLLAMA:
        problem = messages.OLLAMA_CONTEXT.fill(name=named, tokens=context)
        raise ModelFailed("invalid_request", str(problem))
    if context is None:
        context = await inquiry.listed_context()
    return (
        limits if context is None else replace(limits, context_tokens=context, context_known=True)
    )


class _Inquiry:
    """Asks the server of a profile; None for every failed or unknown answer."""

    def __init__(
        self, profile: ModelProfile, headers: Mapping[str, str], transport: HttpTransport
    ) -> None:
        self._profile = profile
        self._headers = headers
        self._transport = transport
        parts = urlsplit(profile.base_url)
        self._origin = f"{parts.scheme}://{parts.netloc}"

    async def ollama_context(self) -> int | None:
        """Return the context that an Ollama server gives the model; None for other servers."""
        if self._profile.wire != "openai-chat" or not _is_local(self._origin):
            return None
        name = self._profile.model
        shown = await self._post(f"{self._origin}/api/show", {"model": name})
        if shown is None or not {"model_info", "parameters"} & set(shown):
            return None
        set_in_model = _NUM_CTX.search(str(shown.get("parameters", "")))
        if set_in_model is not None:
            return int(set_in_model[1])
        running = await self._get(f"{self._origin}/api/ps")
        for item in _items(running, "models"):
            loaded = _count(item.get("context_length"))
            if name in (item.get("name"), item.get("model")) and loaded is not None:
                return loaded
        info = shown.get("model_info")
        most = [
            _count(value)
            for key, value in (info.items() if isinstance(info, dict) else ())
            if key.endswith(".context_length")
        ]
        return next((item for item in most if item is not None), _OLLAMA_DEFAULT)

    async def listed_context(self) -> int | None:
        """Return the context in the server's list of models."""
        base, name = self._profile.base_url.rstrip("/"), self._profile.model
        if self._profile.wire == "anthropic":
            return _first_count(await self._get(f"{base}/v1/models/{quote(name, safe='')}"))
        if self._profile.wire == "gemini":
            return _first_count(await self._get(f"{base}/models/{quote(name, safe='')}"))
        for url in (f"{base}/models", f"{self._origin}/api/v0/models"):
            for item in _items(await self._get(url), "data"):
                if item.get("id") == name and (count := _first_count(item)) is not None:
                    return count
        return None

    async def _get(self, url: str) -> dict[str, Any] | None:
        return await self._ask(url, None)

    async def _post(self, url: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        return await self._ask(url, json.dumps(body).encode())

    async def _ask(self, url: str, body: bytes | None) -> dict[str, Any] | None:
        try:
            async with asyncio.timeout(_ASK_S):
                if body is None:
                    reply = await self._transport.get(url, self._headers)
                else:
                    reply = await self._transport.post(url, self._headers, body)
                return await _read_json(reply)
        except (ModelFailed, TimeoutError, ValueError):
            return None


async def _headers(profile: ModelProfile, endpoint: Endpoint) -> dict[str, str]:
    key, wire = await endpoint.read_key(), FORMATS[profile.wire]
    return {
        "content-type": "application/json",
        **wire.fixed_headers(),
        **endpoint.headers,
        **(wire.auth_headers(key) if key else {}),
    }


def _is_local(origin: str) -> bool:
    """Return whether a server is on this machine or its network, where an Ollama server runs."""
    host, port = urlsplit(origin).hostname or "", urlsplit(origin).port
    try:
        return port == OLLAMA_PORT or ip_address(host).is_private
    except ValueError:
        return host == "localhost"


async def _read_json(reply: HttpReply) -> dict[str, Any] | None:
    data = bytearray()
    try:
        async for chunk in reply.chunks():
            data += chunk
            if len(data) > _MAX_BYTES:
                return None
    finally:
        await reply.aclose()
    value = parse_json(data) if reply.status == 200 else None
    return value if isinstance(value, dict) else None


def _items(value: dict[str, Any] | None, name: str) -> Iterator[Mapping[str, Any]]:
    listed = (value or {}).get(name)
    yield from (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()


def _first_count(value: Mapping[str, Any] | None) -> int | None:
    counts = (_count((value or {}).get(name)) for name in _FIELDS)
    return next((count for count in counts if count is not None), None)


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= 100_000_000:
        return None
    return value
