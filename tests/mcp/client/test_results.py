"""Limits of what a server returns."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest

from handrail.core.lazy import Lazy
from handrail.core.ports.media import MediaKind
from handrail.core.problems import ProblemTemplate
from handrail.core.results import Image
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


def _resource(**content: str) -> types.EmbeddedResource:
    given = {"type": "resource", "resource": {"uri": "file:///a", **content}}
    return types.EmbeddedResource.model_validate(given)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (types.TextContent(type="text", text="hello"), "hello"),
        (_resource(text="inside"), "resource file:///a:\ninside"),
        (_resource(blob="AAAA"), "resource file:///a (binary, not shown)"),
        (
            types.ResourceLink(type="resource_link", name="n", uri="file:///b"),
            "link to the resource file:///b",
        ),
        (
            types.AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
            "(audio content, not shown)",
        ),
        (_BAD, "[handrail: a picture was left out]"),
    ],
)
async def test_each_kind_of_content_is_text(block: Any, text: str) -> None:
    result = types.CallToolResult(content=[block])
    output = await read_result(result, "s", "t", ResultServices(str, None), 5)
    assert output.text == text
    assert output.data == {"server": "s", "tool": "t", "structured": None}
    assert output.problem is None


async def test_text_is_quoted_and_notes_are_not() -> None:
    services = ResultServices(str.upper, None)
    content = [types.TextContent(type="text", text="theirs"), _BAD]
    output = await read_result(types.CallToolResult(content=content), "s", "t", services, 5)
    assert output.text == "THEIRS\n[handrail: a picture was left out]"


async def test_an_error_of_the_tool_is_a_problem_with_its_text() -> None:
    text = types.TextContent(type="text", text="why")
    result = types.CallToolResult(content=[text], is_error=True)
    output = await read_result(result, "s", "t", ResultServices(str, None), 5)
    assert output.text == "why"
    assert output.problem is not None
    assert output.problem.code == "command_failed"


async def test_structured_content_is_the_text_if_there_is_no_other() -> None:
    services = ResultServices(str, None)
    alone = types.CallToolResult(content=[], structured_content={"é": 1})
    output = await read_result(alone, "s", "t", services, 5)
    assert output.text == '{\n "é": 1\n}'
    assert output.data["structured"] == {"é": 1}
    nothing = await read_result(types.CallToolResult(content=[]), "s", "t", services, 5)
    assert nothing.text == "[handrail: the tool returned nothing]"


async def test_structured_content_of_the_greatest_size_is_kept() -> None:
    around = len('{\n "a": ""\n}')
    for size, kept in (((1 << 20) - around, True), ((1 << 20) - around + 1, False)):
        result = types.CallToolResult(content=[], structured_content={"a": "z" * size})
        output = await read_result(result, "s", "t", ResultServices(str, None), 5)
        assert (output.data["structured"] is not None) is kept
        assert ("left out" in output.text) is not kept


class _Pictures:
    """Decodes every picture to one image with a note, or to nothing."""

    def __init__(self, view: Any) -> None:
        self.view = view
        self.given: list[Any] = []

    async def read(self, *given: Any) -> Any:
        self.given.append(given)
        return self.view


async def test_pictures_are_decoded_under_the_name_of_the_tool() -> None:
    image = Image("image/png", b"png")
    reader = _Pictures(SimpleNamespace(images=[image], notes=["smaller"]))
    output = await read_result(
        types.CallToolResult(content=[_BAD, _BAD]), "s", "t", _services(reader), 5
    )
    assert output.images == (image, image)
    assert output.text == "smaller\nsmaller"
    assert reader.given == [(MediaKind.IMAGE, b"\0\0\0", "t")] * 2


async def test_what_is_no_picture_has_a_note_or_none() -> None:
    wrong = types.ImageContent(type="image", data="A!", mime_type="image/png")
    reader = _Pictures(None)
    output = await read_result(
        types.CallToolResult(content=[wrong, _BAD]), "s", "t", _services(reader), 5
    )
    assert "picture could not be decoded" in output.text
    assert output.images == ()
