"""How many tokens a request has, before a provider says so."""

from __future__ import annotations

import json
from typing import Final

from handrail.agent.codec import encode_message
from handrail.core.ports.models import ModelRequest, Picture, ResultBlock

_BYTES_PER_TOKEN: Final = 4
# What providers charge for an image of the largest size that is sent.
_PICTURE_TOKENS: Final = 1_600
# A provider that reports fewer input tokens than this share of the estimate has dropped some.
_TRUNCATED_BELOW: Final = 0.6
_MIN_TOKENS: Final = 2_000


class TokenEstimate:
    """Bytes divided by four, corrected by what the provider reported last."""

    def __init__(self) -> None:
        self._factor = 1.0

    def count(self, request: ModelRequest) -> int:
        """The estimated input tokens of a request."""
        return int(self._raw(request) * self._factor)

    def correct(self, request: ModelRequest, reported: int) -> bool:
        """Take the provider's count into account; returns whether the server seems to have
        truncated the prompt.
        """
        raw = self._raw(request)
        if reported <= 0 or raw <= 0:
            return False
        if raw >= _MIN_TOKENS and reported < _TRUNCATED_BELOW * raw * min(self._factor, 1.0):
            return True
        self._factor = reported / raw
        return False

    def _raw(self, request: ModelRequest) -> float:
        size = sum(len(part.text.encode("utf-8", "surrogatepass")) for part in request.system)
        size += sum(len(json.dumps(tool)) for tool in request.tools)
        pictures = 0
        for message in request.messages:
            for block in message.blocks:
                inner = block.blocks if isinstance(block, ResultBlock) else (block,)
                pictures += sum(isinstance(one, Picture) for one in inner)
            size += len(json.dumps(encode_message(message)["blocks"]))
        return size / _BYTES_PER_TOKEN + pictures * _PICTURE_TOKENS
