"""Converts the result of a server to the output of a call."""

from __future__ import annotations

import asyncio
import base64
import binascii
from json import dumps
from typing import Any, Final

import mcp_types as types

from handrail.core.ports.media import MediaKind
from handrail.core.problems import ProblemRaised
from handrail.core.results import Image, Output
from handrail.mcp.client import messages
from handrail.mcp.client.service import ResultServices

_MOST_IMAGES: Final = 10
# Structured content with more characters as JSON is not part of the output's data.
_MAX_STRUCTURED: Final = 1 << 20


async def read_result(
    result: types.CallToolResult,
    server: str,
    tool: str,
    services: ResultServices,
    pictures_s: float,
) -> Output:
    """Return the output of a call: text, structured content and pictures; an error becomes its
    problem. Pictures that are not decoded within `pictures_s` are left out.
    """
    parts: list[str] = []
    images: list[Image] = []
    tried, until = 0, asyncio.get_running_loop().time() + pictures_s
    for block in result.content:
        if isinstance(block, types.ImageContent) and tried < _MOST_IMAGES:
            tried += 1
            parts += await _read_picture(block, images, tool, services, until)
        else:
            parts.append(services.quote(_text(block)))
    structured = result.structured_content
    if structured is not None:
        shown = dumps(structured, ensure_ascii=False, indent=1)
        parts = parts or [services.quote(shown)]
        if len(shown) > _MAX_STRUCTURED:
            structured = None
            parts.append("[handrail: structured content was left out of the data: too large]")
    problem = None
    if result.is_error:
        problem = messages.TOOL_FAILED.error(server=server, tool=tool).problem
    data = {"server": server, "tool": tool, "structured": structured}
    text = "\n".join(parts) or "[handrail: the tool returned nothing]"
    return Output(text, data=data, images=tuple(images), problem=problem)


async def _read_picture(
    block: types.ImageContent,
    images: list[Image],
    name: str,
    services: ResultServices,
    until: float,
) -> list[str]:
    """Decode a picture; returns the notes about it."""
    if services.media is None:
        return ["[handrail: a picture was left out]"]
    try:
        data = base64.b64decode(block.data, validate=True)
        async with asyncio.timeout_at(until):
            view = await services.media.value.read(MediaKind.IMAGE, data, name)
    except TimeoutError:
        return ["[handrail: a picture was left out: decoding took too long]"]
    except (binascii.Error, ProblemRaised):
        return ["[handrail: a picture could not be decoded]"]
    if view is not None:
        images.extend(view.images)
    return [] if view is None else list(view.notes)


def _text(block: Any) -> str:
    """Return a block of content as text; links and resources are shown, never followed."""
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource):
        resource = block.resource
        if isinstance(resource, types.TextResourceContents):
            return f"resource {resource.uri}:\n{resource.text}"
        return f"resource {resource.uri} (binary, not shown)"
    if isinstance(block, types.ResourceLink):
        return f"link to the resource {block.uri}"
    return f"({block.type} content, not shown)"
