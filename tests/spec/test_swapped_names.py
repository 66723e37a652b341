"""Names that another process exchanges while calls run: nothing withheld is told, nothing runs
in a folder that took the workspace's place.
"""

import pytest
from tests.support.machine import SANDBOXES, SANDBOXES_AND_NONE
from tests.support.swapping import swapping

DENY = {"permissions": {"deny": ["read_file(secret.txt)", "read_file(secrets/**)"]}}
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
    workspace.write("f.txt", "token plain\n")
    (workspace.root / "g.txt").symlink_to("secret.txt")
    (workspace.root / "link").symlink_to("secrets")
    files = [(f"d/{number}.txt", f"links/{number}.txt") for number in range(COUNT)]
    return [*files, ("e", "link"), ("f.txt", "g.txt")]


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
@pytest.mark.parametrize("sandbox", SANDBOXES_AND_NONE)
async def test_a_search_tells_nothing_that_is_withheld(open_runtime, workspace, sandbox):
    pairs = lay_out(workspace)
    async with open_runtime(mode="sandboxed", sandbox=sandbox, config=LOOSE) as rt:
        with swapping(workspace.root, *pairs):
            assert await search(rt, 10) > 0


@pytest.mark.torture
@pytest.mark.timeout(3000)
@pytest.mark.finding("F02")
@pytest.mark.parametrize("sandbox", SANDBOXES_AND_NONE)
async def test_a_thousand_searches_tell_nothing_that_is_withheld(open_runtime, workspace, sandbox):
    pairs = lay_out(workspace)
    async with open_runtime(mode="sandboxed", sandbox=sandbox, config=LOOSE) as rt:
        with swapping(workspace.root, *pairs):
            assert await search(rt, 250) > 0


LOOKS = ["cat *.txt d/*.txt", "cat e/* f*", "grep -r token .", "cat d/0.txt f.txt"]


async def look(rt, rounds):
    """Run commands that only look until so many were really run; how often they told something."""
    told = ran = 0
    for number in range(20 * rounds):
        if ran == rounds:
            break
        command = LOOKS[number % len(LOOKS)]
        result = await rt.call("run_command", {"command": command})
        assert "SECRET" not in f"{result.text}{result.data}", f"{command}: {result.text}"
        ran += result.data is not None
        told += "plain" in result.text
    assert ran == rounds
    return told


@pytest.mark.finding("F03")
@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_a_command_reads_nothing_that_is_withheld(open_runtime, workspace, sandbox):
    pairs = lay_out(workspace)
    async with open_runtime(mode="sandboxed", sandbox=sandbox, config=LOOSE) as rt:
        with swapping(workspace.root, *pairs):
            assert await look(rt, 60) > 0


@pytest.mark.torture
@pytest.mark.timeout(3000)
@pytest.mark.finding("F03")
@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_a_thousand_commands_read_nothing_that_is_withheld(open_runtime, workspace, sandbox):
    pairs = lay_out(workspace)
    async with open_runtime(mode="sandboxed", sandbox=sandbox, config=LOOSE) as rt:
        with swapping(workspace.root, *pairs):
            assert await look(rt, 1000) > 0


@pytest.fixture
def replaced(workspace):
    """Moves the workspace away and puts another folder in its place."""

    def replace():
        moved = workspace.root.with_name("moved")
        workspace.root.rename(moved)
        workspace.write("a.txt", "other\n")
        return moved

    workspace.write("a.txt", "mine\n")
    return replace


CALLS = [
    ("run_command", {"command": "cat a.txt"}),
    ("run_command", {"command": "echo changed > a.txt"}),
    ("run_command", {"command": "echo changed > a.txt", "background": True}),
    ("execute_code", {"language": "bash", "code": "echo changed > a.txt"}),
]


@pytest.mark.finding("F06")
@pytest.mark.parametrize("sandbox", SANDBOXES_AND_NONE)
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_no_command_runs_in_what_took_the_place_of_the_workspace(
    open_runtime, workspace, replaced, sandbox, tool, arguments
):
    async with open_runtime(mode="bypass", sandbox=sandbox) as rt:
        assert (await rt.call("run_command", {"command": "cat a.txt"})).status == "ok"
        moved = replaced()
        result = await rt.call(tool, arguments)
        read = await rt.call("read_file", {"path": "a.txt"})
        found = await rt.call("grep", {"pattern": "mine|other", "output_mode": "content"})

    assert (result.status, result.problem.code) == ("refused", "outside_workspace")
    assert str(workspace.root) in result.problem.message
    assert workspace.read("a.txt") == b"other\n"
    # File tools go on in the folder that was opened.
    assert (moved / "a.txt").read_text() == "mine\n"
    assert "mine" in read.text
    assert "mine" in found.text
    assert "other" not in found.text


@pytest.mark.finding("F06")
async def test_a_workspace_that_is_moved_back_is_used_again(open_runtime, workspace, replaced):
    async with open_runtime(mode="bypass") as rt:
        moved = replaced()
        refused = await rt.call("run_command", {"command": "cat a.txt"})
        workspace.root.rename(moved.with_name("other"))
        moved.rename(workspace.root)
        result = await rt.call("run_command", {"command": "cat a.txt"})

    assert refused.status == "refused"
    assert "mine" in result.text


@pytest.mark.finding("F06")
async def test_no_hook_runs_in_what_took_the_place_of_the_workspace(
    open_runtime, workspace, replaced
):
    hook = {"name": "mark", "matcher": "write_file", "command": "echo ran > marked"}
    config = {"hooks": {"post_tool_use": [hook]}}
    async with open_runtime(config=config) as rt:
        moved = replaced()
        await rt.call("write_file", {"path": "b.txt", "content": "b\n"})

    assert (moved / "b.txt").read_text() == "b\n"
    assert not (workspace.root / "marked").exists()
    assert not (moved / "marked").exists()


@pytest.mark.finding("F06")
@pytest.mark.parametrize("sandbox", SANDBOXES_AND_NONE)
async def test_an_exchanged_workspace_is_never_written_by_a_command(
    open_runtime, workspace, tmp_path, sandbox
):
    """The two folders are exchanged all the time; a command runs in the right one or not at all."""
    workspace.write("a.txt", "mine\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("other\n")
    # What was seen by the handle: which folder it is does not depend on its name.
    statuses = set()
    config = {"loop_guard": "off"}
    async with open_runtime(mode="bypass", sandbox=sandbox, config=config) as rt:
        with swapping(tmp_path, ("work", "other")):
            for _ in range(40):
                result = await rt.call("run_command", {"command": "cat a.txt && echo x > new"})
                statuses.add(result.status)
                assert "other" not in (result.data or {}).get("stdout", "")

    others = [one for one in tmp_path.glob("*/a.txt") if one.read_text() == "other\n"]
    assert [(one.parent / "new").exists() for one in others] == [False]
    assert "refused" in statuses


@pytest.mark.finding("F14")
@pytest.mark.parametrize("sandbox", SANDBOXES_AND_NONE)
async def test_exchanged_folders_never_make_a_call_defective(open_runtime, workspace, sandbox):
    workspace.write("d/secret.txt", "token SECRET\n")
    workspace.write("d/a.txt", "token plain\n")
    workspace.write("other/b.txt", "token plain\n")
    (workspace.root / "link").symlink_to("other")
    calls = [
        ("run_command", {"command": "cat d/a.txt"}),
        ("run_command", {"command": "ls d/deep/deeper"}),
        ("read_file", {"path": "d/a.txt"}),
        ("list_files", {"path": "d"}),
        ("find_files", {"pattern": "*.txt", "path": "d"}),
        ("file_info", {"path": "link/b.txt"}),
        ("grep", {"pattern": "token", "path": "d"}),
    ]
    codes = set()
    async with open_runtime(mode="sandboxed", sandbox=sandbox, config=LOOSE) as rt:
        with swapping(workspace.root, ("d", "link")):
            for number in range(70):
                result = await rt.call(*calls[number % len(calls)])
                codes.add(result.problem.code if result.problem else None)

    assert "internal" not in codes
