"""Roots that a client names: only a person's own setting lets them count."""

import pytest
from mcp_types import ListRootsResult, Root

from handrail.config.layers.project_policy import SETTING_RULES
from handrail.mcp.server.session import root_directory


@pytest.fixture
def other(tmp_path):
    place = tmp_path / "other place"
    place.mkdir()
    (place / "b.txt").write_text("there\n")
    return place


@pytest.mark.parametrize(("allowed", "code"), [(True, None), (False, "outside_workspace")])
async def test_a_clients_roots_count_only_if_they_may(connect, other, allowed, code):
    async def roots(context):
        return ListRootsResult(roots=[Root(uri=other.as_uri())])

    async with connect(
        "legacy", offer={"client_roots": allowed}, client={"list_roots_callback": roots}
    ) as client:
        result = await client.call_tool("read_file", {"path": str(other / "b.txt")})

    problem = result.meta["handrail/result"].get("problem")
    assert (problem and problem["code"]) == code


@pytest.mark.finding("F34")
async def test_a_root_that_is_a_link_can_be_named_by_both_paths(connect, other, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(other)

    async def roots(context):
        return ListRootsResult(roots=[Root(uri=link.as_uri())])

    async with connect(
        "legacy", offer={"client_roots": True}, client={"list_roots_callback": roots}
    ) as client:
        results = [
            await client.call_tool("read_file", {"path": str(top / "b.txt")})
            for top in (link, other)
        ]

    assert [result.is_error for result in results] == [False, False]


async def test_a_client_that_fails_to_tell_its_roots_is_served_all_the_same(connect):
    async def roots(context):
        raise RuntimeError("no")

    async with connect(
        "legacy", offer={"client_roots": True}, client={"list_roots_callback": roots}
    ) as client:
        result = await client.call_tool("read_file", {"path": "a.txt"})

    assert not result.is_error


def test_a_workspace_cannot_switch_it_on():
    row = SETTING_RULES["client_roots"]

    assert not row.applies_untrusted(False, True)
    assert not row.can_be_trusted(True)


@pytest.mark.parametrize(
    "uri",
    [
        "http://localhost/",
        "file://elsewhere/tmp",
        "file:relative",
        "file:///no/such/place",
        "file:",
    ],
)
def test_what_is_no_directory_here_is_left_out(uri):
    assert root_directory(uri) is None


def test_a_directory_with_a_blank_is_understood(other):
    assert root_directory(other.as_uri()) == str(other)
