"""Limits of what a server returns."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types

from handrail.core.lazy import Lazy
from handrail.core.problems import ProblemTemplate
from handrail.mcp.client.results import read_result
from handrail.mcp.client.service import ResultServices

_BAD = types.ImageContent(type="image", data="AAAA", mime_type="image/png")


class _Reader:
    """Fails to decode pictures, after a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.tried = 0

    async def read(self, *given: Any) -> Any:
        del given
        self.tried += 1
        await asyncio.sleep(self.seconds)
        raise ProblemTemplate("not_text", "no picture").error()


def _services(reader: Any) -> ResultServices:
    return ResultServices(str, Lazy(lambda: reader))


async def test_pictures_that_cannot_be_decoded_count_as_well() -> None:
    reader = _Reader(0)
    result = types.CallToolResult(content=[_BAD] * 30)
    output = await read_result(result, "s", "t", _services(reader), 5)
    assert reader.tried == 10
    assert len(output.text.splitlines()) == 30


async def test_decoding_all_pictures_has_one_deadline() -> None:
    result = types.CallToolResult(
        content=[_BAD, _BAD, _BAD, types.TextContent(type="text", text="kept")]
    )
    async with asyncio.timeout(20):
        output = await read_result(result, "s", "t", _services(_Reader(60)), 0.05)
    assert output.text.count("left out") == 3
    assert output.text.endswith("kept")


async def test_large_structured_content_is_left_out_of_the_data() -> None:
    text = types.TextContent(type="text", text="small")
    result = types.CallToolResult(content=[text], structured_content={"a": "z" * (2 << 20)})
    output = await read_result(result, "s", "t", _services(None), 5)
    assert output.data["structured"] is None
    assert output.text.startswith("small\n[handrail: ")
