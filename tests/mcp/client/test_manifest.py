"""Manifests of servers: differences, and which tools can be used."""

from types import SimpleNamespace

import mcp_types as types
import pytest

from handrail.core.problems import ProblemRaised
from handrail.mcp.client.manifest import (
    OTHER_PROGRAM,
    ServerManifest,
    ToolRecord,
    clean_description,
    describe_differences,
    find_obstacle,
    full_name,
    list_tools,
)


def tool(name="look", description="Looks.", schema=None, read_only=False):
    return ToolRecord(name, description, {} if schema is None else schema, read_only)


def manifest(*tools, fingerprint="f1"):
    return ServerManifest(fingerprint, tools)


def test_a_manifest_is_read_back():
    made = manifest(tool(), tool("edit", schema={"type": "object"}, read_only=True))

    assert ServerManifest.from_dict(made.to_dict()) == made
    assert ServerManifest.from_dict(made.to_dict()).digest == made.digest


def test_the_digest_depends_on_what_a_schema_says_and_not_on_the_order_of_its_keys():
    one, other = {"type": "object", "title": "T"}, {"title": "T", "type": "object"}

    assert manifest(tool(schema=one)).digest == manifest(tool(schema=other)).digest
    assert manifest(tool(schema=one)).digest != manifest(tool(schema={})).digest


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"tools": []},
        {"fingerprint": "f", "tools": [{"name": "a"}]},
        {"fingerprint": "f", "tools": [{"name": 1, "description": "", "schema": {}}]},
        {"fingerprint": "f", "tools": [{"name": "a", "description": "", "schema": 1}]},
        {"fingerprint": "f", "tools": [{"name": "a", "description": "", "schema": {}, "x": 1}]},
    ],
)
def test_what_is_no_manifest_is_an_error(given):
    with pytest.raises((ValueError, KeyError, TypeError)):
        ServerManifest.from_dict(given)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (manifest(tool()), manifest(tool()), ""),
        (manifest(), manifest(tool("a"), tool("b")), "new: a, b"),
        (manifest(tool("b"), tool("a")), manifest(), "removed: a, b"),
        (manifest(tool("a")), manifest(tool("a", "Other.")), "changed: a"),
        (manifest(tool("a")), manifest(tool("a", read_only=True)), "changed: a"),
        (manifest(tool()), manifest(tool(), fingerprint="f2"), OTHER_PROGRAM),
        (
            manifest(tool("a"), tool("b")),
            manifest(tool("b", "x"), tool("c"), fingerprint="f2"),
            f"new: c; removed: a; changed: b; {OTHER_PROGRAM}",
        ),
        (manifest(), manifest(*map(tool, "abcde")), "new: a, b, c, d, e"),
        (manifest(), manifest(*map(tool, "abcdefg")), "new: a, b, c, d, e and 2 more"),
        (manifest(), manifest(tool("x\n" + "y" * 99)), "new: x\\n" + "y" * 62),
    ],
)
def test_differences_are_described(old, new, text):
    assert describe_differences(old, new) == text


@pytest.mark.parametrize(
    ("one", "allow", "usable"),
    [
        (tool("look"), ["*"], True),
        (tool("look"), ["edit", "lo*"], True),
        (tool("look"), ["edit"], False),
        (tool("look"), [], False),
        (tool("lo ok"), ["*"], False),
        (tool("lo.ok"), ["*"], False),
        (tool(""), ["*"], False),
        (tool("x" * 200), ["*"], False),
        (tool(schema={"type": "object"}), ["*"], True),
        (tool(schema={"type": "string"}), ["*"], False),
        (tool(schema={"a": "x" * (64 * 1024 - 9)}), ["*"], True),
        (tool(schema={"a": "x" * (64 * 1024 - 8)}), ["*"], False),
    ],
)
def test_which_tools_can_be_used(one, allow, usable):
    assert (find_obstacle("s", one, allow) is None) is usable


def test_names_and_descriptions_in_the_runtime():
    assert full_name("s", "look").endswith("s__look")
    assert clean_description(None) == ""
    assert clean_description("a\x1b" + "x" * 3000) == "a\\x1b" + "x" * 1998


class Pages:
    """A client of a server whose list has these pages."""

    def __init__(self, *pages, endless=False):
        self._pages, self._endless, self.asked = pages, endless, []

    async def list_tools(self, cursor):
        self.asked.append(cursor)
        number = int(cursor or 0)
        last = not self._endless and number == len(self._pages) - 1
        tools = self._pages[0 if self._endless else number]
        return SimpleNamespace(tools=tools, next_cursor=None if last else str(number + 1))


def offered(name, description=None, read_only=None, **schema):
    hints = None if read_only is None else {"readOnlyHint": read_only}
    return types.Tool.model_validate(
        {"name": name, "description": description, "inputSchema": schema, "annotations": hints}
    )


async def test_the_pages_of_a_list_are_joined_and_sorted():
    client = Pages(
        [offered("b", "B\x1b", True, type="object")], [offered("c", read_only=False), offered("a")]
    )

    assert await list_tools(client, "s") == (
        ToolRecord("a", "", {}),
        ToolRecord("b", "B\\x1b", {"type": "object"}, read_only=True),
        ToolRecord("c", "", {}),
    )
    assert client.asked == [None, "1"]


@pytest.mark.parametrize(
    "client",
    [
        Pages([offered("a"), offered("a")]),
        Pages([offered("a")], [offered("a")]),
        Pages([offered(f"t{n}") for n in range(2_001)]),
        Pages([offered("a", "x" * (8 << 20))]),
        Pages([offered("a", "x" * (5 << 20))], [offered("b", "x" * (5 << 20))]),
        Pages([], endless=True),
    ],
    ids=["twice", "on two pages", "too many", "too large", "large together", "endless"],
)
async def test_a_list_that_is_invalid_or_too_long_is_refused(client):
    with pytest.raises(ProblemRaised) as raised:
        await list_tools(client, "s")

    assert raised.value.problem.code == "unavailable"
    assert len(client.asked) <= 100


async def test_a_list_of_the_greatest_length_is_read():
    assert len(await list_tools(Pages([offered(f"t{n}") for n in range(2_000)]), "s")) == 2_000
    assert await list_tools(Pages(*[[]] * 100), "s") == ()
