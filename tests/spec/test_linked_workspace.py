"""A workspace that is opened through a link: its files can be named by both paths."""

import json

import pytest
from tests.support.machine import SANDBOXES_AND_NONE

import handrail
from handrail.cli.main import main


@pytest.fixture
def linked(workspace, tmp_path):
    """Another path of the workspace: a link, in a folder that is reached by a link as well."""
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to("far")
    link = tmp_path / "near" / "link"
    link.symlink_to(workspace.root)
    workspace.write("a.txt", "first\n")
    workspace.write("sub/b.txt", "two\n")
    return link


@pytest.fixture(params=["linked", "real"])
def named(request, workspace, linked):
    """Each way to name the workspace that was opened through the link."""
    return linked if request.param == "linked" else workspace.root


def opened(linked, **settings):
    return handrail.open(linked, **{"store": ":memory:", "mode": "bypass", **settings})


CALLS = [
    ("read_file", {"path": "{}/a.txt"}, "first"),
    ("read_file", {"path": "{}/sub/../a.txt"}, "first"),
    ("list_files", {"path": "{}"}, "a.txt"),
    ("list_files", {"path": "{}/sub"}, "sub/b.txt"),
    ("file_info", {"path": "{}/sub/b.txt"}, "4"),
    ("grep", {"pattern": "two", "path": "{}"}, "sub/b.txt"),
    ("grep", {"pattern": "two", "path": "{}/sub/b.txt", "output_mode": "content"}, "two"),
    ("find_files", {"pattern": "*.txt", "path": "{}/sub"}, "sub/b.txt"),
    ("write_file", {"path": "{}/new.txt", "content": "x\n"}, "new.txt"),
    ("edit_file", {"path": "{}/a.txt", "old_string": "first", "new_string": "1"}, "a.txt"),
    ("run_command", {"command": "cat {}/a.txt"}, "first"),
    ("run_command", {"command": "cat a.txt", "cwd": "{}"}, "first"),
    ("run_command", {"command": "cat b.txt", "cwd": "{}/sub"}, "two"),
    ("run_command", {"command": "cd {}/sub && cat b.txt"}, "two"),
    ("execute_code", {"language": "bash", "code": "cat {}/sub/b.txt"}, "two"),
]


@pytest.mark.finding("F34")
@pytest.mark.parametrize(("tool", "arguments", "told"), CALLS)
async def test_every_tool_takes_both_paths(linked, named, tool, arguments, told):
    given = {name: value.replace("{}", str(named)) for name, value in arguments.items()}
    async with opened(linked) as rt:
        result = await rt.call(tool, given)

    assert result.status == "ok", result.text
    assert told in result.text


@pytest.mark.finding("F34")
@pytest.mark.parametrize("sandbox", SANDBOXES_AND_NONE)
async def test_a_command_writes_by_both_paths_and_is_undone(linked, named, workspace, sandbox):
    commands = [f"echo x > {named}/sub/made", f"sed -i s/two/2/ {named}/sub/b.txt"]
    config = {"accept_no_sandbox": True}
    async with opened(linked, sandbox=sandbox, config=config) as rt:
        for command in (*commands, f"cat {named}/sub/made"):
            result = await rt.call("run_command", {"command": command})
            assert result.status == "ok", result.text
        changed = workspace.read("sub/b.txt"), workspace.read("sub/made")
        for _ in commands:
            undone = await rt.call("undo", {})
            assert undone.status == "ok", undone.text

    assert changed == (b"2\n", b"x\n")
    assert "x" in result.text
    assert workspace.read("sub/b.txt") == b"two\n"
    assert not (workspace.root / "sub/made").exists()


@pytest.mark.finding("F34")
@pytest.mark.parametrize("by", ["linked", "real"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "{}/a.txt"}),
        ("grep", {"pattern": "first", "path": "{}/a.txt"}),
        ("run_command", {"command": "cat {}/a.txt"}),
        ("run_command", {"command": "cat {}/a.t*"}),
    ],
)
async def test_a_rule_by_either_path_binds_both(linked, named, workspace, by, tool, arguments):
    top = linked if by == "linked" else workspace.root
    deny = {"permissions": {"deny": [f"read_file({top}/a.txt)"]}}
    given = {name: value.replace("{}", str(named)) for name, value in arguments.items()}
    async with opened(linked, config=deny) as rt:
        result = await rt.call(tool, given)

    assert result.status != "ok"
    assert "first" not in f"{result.text}{result.data}"


@pytest.mark.finding("F34")
async def test_an_allow_rule_by_the_link_allows(linked, named):
    config = {"permissions": {"allow": [f"write_file(/{linked}/sub/**)"]}}
    async with opened(linked, config=config, mode="dont-ask") as rt:
        result = await rt.call("write_file", {"path": f"{named}/sub/c.txt", "content": "c"})
        beside = await rt.call("write_file", {"path": f"{named}/c.txt", "content": "c"})

    assert (result.status, beside.status) == ("ok", "refused")


@pytest.mark.finding("F34")
async def test_undo_takes_both_paths(linked, named, workspace):
    async with opened(linked) as rt:
        await rt.call("write_file", {"path": "a.txt", "content": "changed\n"})
        undone = await rt.call("undo", {"scope": "path", "target": f"{named}/a.txt"})

    assert undone.status == "ok", undone.text
    assert workspace.read("a.txt") == b"first\n"


@pytest.mark.finding("F34")
async def test_a_further_directory_can_be_a_link_too(workspace, linked, named):
    folder = workspace.root.parent / "main"
    folder.mkdir()
    async with handrail.open(
        folder, store=":memory:", mode="bypass", directories=[str(linked)]
    ) as rt:
        read = await rt.call("read_file", {"path": f"{named}/a.txt"})
        ran = await rt.call("run_command", {"command": f"cat {named}/a.txt"})

    assert "first" in read.text
    assert "first" in ran.text


@pytest.mark.finding("F34")
def test_the_command_line_takes_both_paths(linked, named, workspace, monkeypatch, capsys):
    monkeypatch.chdir(workspace.root)
    monkeypatch.setenv("PWD", str(linked))

    def run(*words):
        code = main([str(word) for word in words])
        return code, capsys.readouterr().out

    written = run("call", "--mode", "bypass", "write_file", f"path={named}/a.txt", "content=new\n")
    logged = run("log", "--path", f"{named}/a.txt")
    undone = run("undo", "--path", f"{named}/a.txt")

    assert written[0] == 0, written
    assert logged[0] == 0
    assert "write_file" in logged[1]
    assert undone[0] == 0, undone
    assert workspace.read("a.txt") == b"first\n"


@pytest.mark.finding("F34")
async def test_what_lies_beside_the_link_is_still_outside(linked, tmp_path):
    (tmp_path / "far" / "secret.txt").write_text("secret\n")
    async with opened(linked) as rt:
        beside = await rt.call("read_file", {"path": f"{linked.parent}/secret.txt"})
        above = await rt.call("read_file", {"path": f"{linked}/../secret.txt"})

    assert json.dumps([beside.status, above.status]) == '["refused", "refused"]'
    assert "secret\n" not in beside.text + above.text
