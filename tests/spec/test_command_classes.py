"""The class of a command through the front door: what runs, asks or is refused because of it."""

import pytest

from handrail import Status


@pytest.mark.finding("F15")
@pytest.mark.parametrize("command", ["find . -delete", "find . -type f | xargs rm -f", "rm -rf *"])
async def test_emptying_the_workspace_asks_in_auto_safe(open_runtime, workspace, command):
    workspace.write("kept.txt", "kept\n")
    asked = []
    async with open_runtime(
        mode="auto-safe", approver=lambda request: bool(asked.append(request))
    ) as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.status is not Status.OK
    assert len(asked) == 1
    assert workspace.read("kept.txt") == b"kept\n"


@pytest.mark.finding("F08")
@pytest.mark.parametrize(
    "command", ["npm install --global x", "pip install x", "cargo publish", "make install"]
)
async def test_allowed_only_refuses_to_install_or_publish(open_runtime, command):
    async with open_runtime(config={"allowed_only": True}, approver=lambda request: True) as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.problem.code == "denied"


@pytest.mark.finding("F10")
@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("awk '{print $2}' pairs.txt", "1\n2"),
        ("sh -c 'head -1 pairs.txt'", "a 1"),
        ('while read -r a _; do echo "$a"; done < pairs.txt', "a\nb"),
        ("bash -n run.sh && echo ok", "ok"),
    ],
)
async def test_reading_runs_without_a_question(open_runtime, workspace, command, printed):
    workspace.write("pairs.txt", "a 1\nb 2\n")
    workspace.write("run.sh", "echo hi\n")
    asked = []
    async with open_runtime(approver=lambda request: bool(asked.append(request))) as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.data["stdout"] == printed
    assert asked == []


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        'x() { "$@"; }; x sudo -n true',
        'set -- sudo -n true; "$@"',
        'a=(sudo -n true); "${a[@]}"',
        "git -c alias.x='!sudo -n true' x",
    ],
)
async def test_a_catastrophe_behind_values_is_refused_in_every_mode(open_runtime, command):
    async with open_runtime(mode="bypass") as rt:
        result = await rt.call("run_command", {"command": command})

    assert result.problem.code == "blocked"
