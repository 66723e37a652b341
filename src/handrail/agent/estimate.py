"""Estimates the tokens of a request before the provider counts them."""

from __future__ import annotations

import json
from typing import Final

from handrail.core.ports.models import (
    Block,
    CallBlock,
    Message,
    ModelRequest,
    Picture,
    ResultBlock,
)

_BYTES_PER_TOKEN: Final = 4
# The tokens of an image of the largest size that is sent.
_PICTURE_TOKENS: Final = 1_600
# A provider that reports fewer input tokens than this share of the estimate has dropped some.
_TRUNCATED_BELOW: Final = 0.6
_MIN_TOKENS: Final = 2_000


class TokenEstimate:
    """Bytes divided by four, corrected by the provider's last report: `factor`."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor
        # Messages are only appended: each is measured once.
        self._measured: list[tuple[Message, float]] = []
        # The bytes of the last system prompt and tools, which rarely change.
        self._fixed: tuple[object, object, int] = (None, None, 0)

    def count(self, request: ModelRequest) -> int:
        """Return the estimated input tokens of a request."""
        return int(self._raw(request) * self.factor)

    def correct(self, request: ModelRequest, reported: int) -> bool:
        """Apply the provider's count; return whether the server seems to have truncated the prompt."""
        raw = self._raw(request)
        if reported <= 0 or raw <= 0:
            return False
        if raw >= _MIN_TOKENS and reported < _TRUNCATED_BELOW * raw * min(self.factor, 1.0):
            return True
        self.factor = reported / raw
        return False

    def _raw(self, request: ModelRequest) -> float:
        system, tools, size = self._fixed
        if system is not request.system or tools is not request.tools:
            size = sum(_bytes(part.text) for part in request.system)
            size += sum(len(json.dumps(tool)) for tool in request.tools)
            self._fixed = (request.system, request.tools, size)
        return size / _BYTES_PER_TOKEN + self._messages(request.messages)

    def _messages(self, messages: tuple[Message, ...]) -> float:
        measured = self._measured
        for number, message in enumerate(messages):
            if number < len(measured) and measured[number][0] is message:
                continue
            del measured[number:]
            measured.append((message, message_tokens(message)))
        return sum(tokens for _, tokens in measured[: len(messages)])


def message_tokens(message: Message) -> float:
    """Return the estimated tokens of a message, from its bytes."""
    return sum(map(_block_tokens, message.blocks))


def _block_tokens(block: Block) -> float:
    if isinstance(block, Picture):
        return _PICTURE_TOKENS
    if isinstance(block, ResultBlock):
        return sum(map(_block_tokens, block.blocks))
    text = f"{block.name}{block.arguments_json}" if isinstance(block, CallBlock) else block.text
    return _bytes(text) / _BYTES_PER_TOKEN


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
