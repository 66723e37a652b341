"""The table of wire formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handrail.models.wires.anthropic import AnthropicWire
from handrail.models.wires.chat import ChatWire
from handrail.models.wires.gemini import GeminiWire
from handrail.models.wires.requests import WireFormat
from handrail.models.wires.responses import ResponsesWire

FORMATS: Final[Mapping[str, WireFormat]] = {
    one.name: one for one in (ChatWire(), ResponsesWire(), AnthropicWire(), GeminiWire())
}
