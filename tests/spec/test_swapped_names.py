"""Names that another process exchanges while calls run: nothing withheld is told, nothing runs
in a folder that took the workspace's place.
"""

import pytest
from tests.support.swapping import swapping

DENY = {"permissions": {"deny": ["read_file(secret.txt)", "read_file(secrets/**)"]}}
BACKENDS = ["bubblewrap", "landlock", "none"]
COUNT = 8


def lay_out(workspace):
    """Files, and links to what is withheld; returns the names to exchange."""
    workspace.write("secret.txt", "token SECRET\n")
    workspace.write("secrets/0.txt", "token SECRET\n")
    (workspace.root / "links").mkdir()
    for number in range(COUNT):
        workspace.write(f"d/{number}.txt", "token plain\n")
        (workspace.root / f"links/{number}.txt").symlink_to("../secret.txt")
    workspace.write("e/0.txt", "token plain\n")
    (workspace.root / "link").symlink_to("secrets")
    files = [(f"d/{number}.txt", f"links/{number}.txt") for number in range(COUNT)]
    return [*files, ("e", "link")]


async def search(rt, rounds):
    """Search a file, folders and all, over and over; how often something was found."""
    found = 0
    for number in range(rounds):
        mode = ("content", "count", "files_with_matches")[number % 3]
        for path in ("d/0.txt", "d", "e", "."):
            result = await rt.call("grep", {"pattern": "token", "path": path})
            found += "d/" in result.text
            result = await rt.call(
                "grep", {"pattern": "SECRET", "path": path, "output_mode": mode, "context": 1}
            )
            if result.status == "ok":
                assert result.text.startswith("[no matches"), result.text
            assert "token" not in f"{result.text}{result.data}"
    return found


LOOSE = {**DENY, "loop_guard": "off"}


@pytest.mark.finding("F02")
@pytest.mark.parametrize("sandbox", BACKENDS)
async def test_a_search_tells_nothing_that_is_withheld(open_runtime, workspace, sandbox):
    pairs = lay_out(workspace)
    async with open_runtime(mode="sandboxed", sandbox=sandbox, config=LOOSE) as rt:
        with swapping(workspace.root, *pairs):
            assert await search(rt, 10) > 0


@pytest.mark.torture
@pytest.mark.timeout(3000)
@pytest.mark.finding("F02")
@pytest.mark.parametrize("sandbox", BACKENDS)
async def test_a_thousand_searches_tell_nothing_that_is_withheld(open_runtime, workspace, sandbox):
    pairs = lay_out(workspace)
    async with open_runtime(mode="sandboxed", sandbox=sandbox, config=LOOSE) as rt:
        with swapping(workspace.root, *pairs):
            assert await search(rt, 250) > 0
