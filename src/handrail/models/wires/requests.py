"""Shared by the requests of all wire formats: ids, results, pictures, and the check that a provider
accepts a conversation.
"""

from __future__ import annotations

import base64
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeVar

from handrail.core.ports.models import (
    CallBlock,
    Message,
    ModelFailed,
    ModelRequest,
    Picture,
    ResultBlock,
    TextBlock,
)
from handrail.core.text.nesting import parse_json
from handrail.models.wires.fields import parse_object
from handrail.models.wires.reader import StreamReader

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WireOptions:
    """Options of a request besides the conversation."""

    model: str
    sees_images: bool = True
    # "low", "medium", "high", or a number of thinking tokens.
    reasoning: str | int | None = None
    # OpenAI's own service, which uses another name for the output limit than compatible servers.
    is_openai: bool = False


class RequestStep(NamedTuple):
    """One step of a rendered conversation: text of the user, a message of the model with the ids of
    its calls, or results with the ids of their calls.
    """

    kind: Literal["user", "assistant", "results"]
    ids: tuple[Any, ...] = ()


class WireFormat(ABC):
    """One wire format: where requests go, their bodies, and the reader of their streams."""

    name: ClassVar[str]
    reader: ClassVar[type[StreamReader]]
    starts_with_user: ClassVar[bool] = False

    @abstractmethod
    def target(self, options: WireOptions) -> str:
        """Return the path and query below the base URL."""

    def auth_headers(self, key: str) -> dict[str, str]:
        """Return the headers with the key."""
        return {"authorization": f"Bearer {key}"}

    def fixed_headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {}

    @abstractmethod
    def render(self, request: ModelRequest, options: WireOptions) -> dict[str, Any]:
        """Return the body of a request; raises `ModelFailed` for a result without a call."""

    @abstractmethod
    def outline(self, body: Mapping[str, Any]) -> Iterator[RequestStep]:
        """Yield the steps of the conversation in a body; raises `ModelFailed` for a malformed part."""

    def check(self, body: Mapping[str, Any]) -> None:
        """Raise `ModelFailed` unless the conversation is complete and in order."""
        check_steps(list(self.outline(body)), starts_with_user=self.starts_with_user)


def check_steps(steps: Sequence[RequestStep], *, starts_with_user: bool) -> None:
    """Raise `ModelFailed` unless every call has exactly one result directly after its message, and
    every result has a call.
    """
    if not steps:
        raise broken("it is empty")
    if starts_with_user and steps[0].kind != "user":
        raise broken("it does not start with a message of the user")
    open_ids: list[Any] = []
    for number, step in enumerate(steps):
        if step.kind == "results":
            _close_calls(open_ids, step, number)
            continue
        if open_ids:
            raise broken(f"the call {open_ids[0]!r:.100} has no result before step {number}")
        open_ids = list(step.ids)
        if any(not isinstance(call_id, str) or not call_id for call_id in open_ids):
            raise broken(f"step {number} has a call without an id")
        if len(set(open_ids)) < len(open_ids):
            raise broken(f"step {number} has two calls with one id")
    if open_ids:
        raise broken(f"the call {open_ids[0]!r:.100} has no result")
    if steps[-1].kind == "assistant":
        raise broken("it ends with a message of the model")


def _close_calls(open_ids: list[Any], step: RequestStep, number: int) -> None:
    for call_id in step.ids:
        if call_id not in open_ids:
            raise broken(f"step {number} has a result for {call_id!r:.100}, which is no open call")
        open_ids.remove(call_id)


def broken(what: str) -> ModelFailed:
    """Return the failure of a conversation that the provider would refuse."""
    return ModelFailed("invalid_request", f"the conversation cannot be sent: {what}")


class IdLinks:
    """The ids of calls in a rendered conversation. Ids are scoped to their message: results belong
    to the nearest message of the model before them.
    """

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._used: set[str] = set()
        self._current: dict[str, str] = {}

    def open(self, message: Message, provider_ids: Sequence[str] | None = None) -> list[str]:
        """The ids of a message's calls: those of its provider, or ours made valid and unique."""
        calls = message.calls
        ids = (
            list(provider_ids)
            if provider_ids is not None
            else [self._fresh(call) for call in calls]
        )
        if len(ids) != len(calls):
            raise broken("a message and its raw form have different calls")
        self._used.update(ids)
        self._current = {call.id: wire_id for call, wire_id in zip(calls, ids, strict=True)}
        return ids

    def wire_id(self, call_id: str) -> str:
        """Return the provider's id for a result; raises `ModelFailed` if there is no such call."""
        wire_id = self._current.get(call_id)
        if wire_id is None:
            raise broken(f"a result for {call_id!r:.100} follows no such call")
        return wire_id

    def _fresh(self, call: CallBlock) -> str:
        base = call.id
        if not self._pattern.fullmatch(base):
            base = f"id-{hashlib.sha256(base.encode('utf-8', 'replace')).hexdigest()[:24]}"
        number, candidate = 1, base
        while candidate in self._used:
            number += 1
            candidate = f"{base[:30]}-{number}"
        self._used.add(candidate)
        return candidate


def raw_value(message: Message, wire: str, kind: type[T]) -> T | None:
    """Return the raw form of a message if it came over this wire."""
    raw = message.raw
    return (
        raw.value if raw is not None and raw.wire == wire and isinstance(raw.value, kind) else None
    )


def split_result(block: ResultBlock, *, sees_images: bool) -> tuple[list[Picture], str]:
    """The pictures of a result that can be sent, and its text with notes for the other pictures."""
    pictures: list[Picture] = []
    texts: list[str] = []
    for part in block.blocks:
        if isinstance(part, TextBlock):
            texts.append(part.text)
        elif sees_images and part.media_type in VISIBLE:
            pictures.append(part)
        else:
            texts.append(picture_note(part))
    return pictures, "\n".join(texts)


VISIBLE: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def picture_note(picture: Picture) -> str:
    """Return the text that replaces a picture that cannot be sent."""
    size = len(picture.data)
    return f"[an image, {picture.media_type}, {size:,} bytes, cannot be shown here]"


def base64_text(picture: Picture) -> str:
    """Return the bytes of a picture as base64."""
    return base64.b64encode(picture.data).decode("ascii")


def data_url(picture: Picture) -> str:
    """Return a picture as a data URL."""
    return f"data:{picture.media_type};base64,{base64_text(picture)}"


def safe_name(name: str) -> str:
    """Return the name of a tool in a form that every provider accepts."""
    return name if _NAME.fullmatch(name) else "invalid_tool_name"


def object_text(arguments_json: str) -> str:
    """Return the argument text of a call, "{}" if it is not a JSON object."""
    return arguments_json if parse_object(arguments_json) else "{}"


def object_value(arguments_json: str) -> dict[str, Any]:
    """Return the arguments of a call, {} if they are not a JSON object."""
    return parse_object(arguments_json) or {}


def require_object(arguments: Any) -> None:
    """Raise `ModelFailed` unless arguments are a JSON object, or the text of one."""
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments, strict=False)
        except ValueError:
            arguments = None
    if not isinstance(arguments, dict):
        raise broken("the arguments of a call are not a JSON object")
