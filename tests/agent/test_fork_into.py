"""A fork into a directory of its own: the workspace as it was at a turn, and the original untouched."""

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys

import pytest
from tests.models.speaking import WIRES, model_on

import handrail
from handrail.core.problems import ProblemRaised
from handrail.models.wires.formats import FORMATS
from handrail.testing import FakeProvider, calls, says, together

SETTINGS = {"mode": "bypass", "config": {"freshness": "off", "accept_no_sandbox": True}}


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    root.joinpath("src", "deep").mkdir(parents=True)
    root.joinpath("a.txt").write_text("0\n")
    root.joinpath("src", "deep", "raw.bin").write_bytes(bytes(range(256)))
    root.joinpath("run.sh").write_text("true\n")
    root.joinpath("run.sh").chmod(0o755)
    root.joinpath("link").symlink_to("src/deep")
    root.joinpath("empty").mkdir()
    return root


def write(number, path="a.txt"):
    return calls("write_file", path=path, content=f"{number}\n")


def tree(root):
    """Every entry below a directory: its permissions, and its bytes or where it leads."""
    found = {}
    for path in sorted(root.rglob("*")):
        name, mode = str(path.relative_to(root)), stat.S_IMODE(path.lstat().st_mode)
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = (mode, path.read_bytes() if path.is_file() else None)
    return found


@pytest.mark.parametrize("wire", WIRES)
async def test_the_copy_is_the_workspace_as_at_that_turn(workspace, tmp_path, wire):
    command = "rm -r src; echo 3 > made; chmod 600 run.sh; ln -sfn run.sh link; rmdir empty"
    replies = [
        write(1),
        together(write(2), write(2, "new/b.txt")),
        calls("run_command", command=command),
        write(4),
        says("done"),
        together(write("fork"), calls("read_file", path="run.sh")),
        says("forked"),
        write("original"),
        says("original"),
    ]
    seen = {}

    def note(event):
        if event.type == "model_request":
            seen[event.step - 1] = tree(workspace)

    async with FakeProvider(replies) as provider:
        model = model_on(provider, wire)
        async with handrail.open(workspace, model=model, session="s", **SETTINGS) as rt:
            agent = rt.agent(session="s")
            await agent.run("write", on_event=note)
            # An outsider's change of a file that later turns changed is no obstacle: nothing is lost.
            workspace.joinpath("a.txt").write_text("an outsider's\n")
            before, messages = tree(workspace), agent.messages
            fork = await agent.fork(2, into=tmp_path / "fork")
            copied, untouched = tree(tmp_path / "fork"), tree(workspace)
            forked = await fork.run("go on there")
            same = agent.messages == messages
            apart = tree(workspace)
            original = await agent.run("go on here")
        await model.aclose()

    assert copied == seen[2]
    assert untouched == before == apart
    assert same
    assert (forked.text, original.text) == ("forked", "original")
    assert tmp_path.joinpath("fork", "a.txt").read_text() == "fork\n"
    assert workspace.joinpath("a.txt").read_text() == "original\n"
    sent = json.dumps(provider.requests[5].body)
    assert str(tmp_path / "fork") in sent
    assert "go on there" not in json.dumps(provider.requests[-1].body)
    for request in provider.requests:
        FORMATS[wire].check(request.body)


async def test_a_fork_resumes_in_its_own_directory(workspace, tmp_path):
    async with FakeProvider([write(1), write(2), says("done"), says("again")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, session="s", **SETTINGS) as rt:
            agent = rt.agent(session="s")
            await agent.run("write")
            fork = await agent.fork(1, into=str(tmp_path / "fork"))
            assert (fork.turn, agent.turn) == (1, 3)
        async with handrail.open(
            tmp_path / "fork", model=model, session=fork.session, **SETTINGS
        ) as rt:
            resumed = await rt.agent(session=fork.session).run("go on")
        await model.aclose()

    assert resumed.text == "again"
    last = json.dumps(provider.requests[-1].body["messages"][-1])
    assert "copy of the workspace" in last
    assert "go on" in last


@pytest.mark.parametrize("kind", ["full", "file", "inside", "itself", "current"])
async def test_a_directory_that_is_not_free_is_refused(workspace, tmp_path, kind, monkeypatch):
    full = tmp_path / "full"
    full.mkdir()
    full.joinpath("x").write_text("kept\n")
    into = {
        "full": full,
        "file": full / "x",
        "inside": workspace / "new",
        "itself": workspace,
        "current": tmp_path / "empty",
    }[kind]
    if kind == "current":
        into.mkdir()
        monkeypatch.chdir(into)
    async with FakeProvider([write(1), says("done")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, session="s", **SETTINGS) as rt:
            agent = rt.agent(session="s")
            await agent.run("write")
            before = tree(tmp_path)
            with pytest.raises(ProblemRaised) as refused:
                await agent.fork(1, into=into)
            assert tree(tmp_path) == before
        await model.aclose()

    code = "exists" if kind in ("full", "file") else "invalid_arguments"
    assert refused.value.problem.code == code


async def test_what_a_rule_denies_by_its_place_and_what_is_no_file_are_left_out(
    workspace, tmp_path, monkeypatch
):
    workspace.joinpath("secret").mkdir()
    workspace.joinpath("secret", "key.txt").write_text("hidden")
    workspace.joinpath("notes.env").write_text("named")
    monkeypatch.chdir(workspace)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("sock")
    deny = [f"Read(/{workspace}/secret/**)", "Read(notes.env)"]
    config = {**SETTINGS["config"], "permissions": {"deny": deny}}
    async with FakeProvider([says("done"), calls("read_file", path="notes.env"), says("no")]) as it:
        model = model_on(it, "anthropic")
        async with handrail.open(
            workspace, model=model, session="s", mode="bypass", config=config
        ) as rt:
            agent = rt.agent(session="s")
            await agent.run("look")
            fork = await agent.fork(into=tmp_path / "fork")
            result = await fork.run("read it")
        await model.aclose()
    listening.close()

    copied = tree(tmp_path / "fork")
    assert "secret/key.txt" not in copied
    assert "sock" not in copied
    # A rule by name holds in the copy as well.
    assert copied["notes.env"][1] == b"named"
    assert [code for _, code in result.report.refused] == ["denied"]
    told = json.dumps(it.requests[1].body)
    assert "secret" in told
    assert "sock" in told


async def test_several_roots_lie_beside_each_other(workspace, tmp_path):
    other = tmp_path / "lib" / "workspace"
    other.mkdir(parents=True)
    other.joinpath("b.txt").write_text("0\n")
    path = str(other / "b.txt")
    replies = [write(1, path), together(write(2, path), write(2)), says("done"), says("forked")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(
            workspace, model=model, session="s", directories=[other], **SETTINGS
        ) as rt:
            agent = rt.agent(session="s")
            await agent.run("write")
            fork = await agent.fork(1, into=tmp_path / "fork")
            await fork.run("look")
        await model.aclose()

    made = tmp_path / "fork"
    assert sorted(one.name for one in made.iterdir()) == ["workspace", "workspace-2"]
    assert (made / "workspace" / "a.txt").read_text() == "0\n"
    assert (made / "workspace-2" / "b.txt").read_text() == "1\n"
    assert other.joinpath("b.txt").read_text() == "2\n"


async def test_of_two_forks_at_the_same_time_one_gets_the_directory(workspace, tmp_path):
    async with FakeProvider([says("done")] * 8) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, **SETTINGS) as rt:
            agents = [rt.agent() for _ in range(4)]
            for agent in agents:
                await agent.run("look")
            forks = [agent.fork(into=tmp_path / "fork") for agent in agents]
            made = await asyncio.gather(*forks, return_exceptions=True)
        await model.aclose()

    refused = [one for one in made if isinstance(one, ProblemRaised)]
    assert [one.problem.code for one in refused] == ["exists"] * 3
    assert tree(tmp_path / "fork") == tree(workspace)


async def fork_and_rewind(workspace, into, command):
    """A fork at the beginning of a task that ran the command, and a rewind to there."""
    steps = [calls("run_command", command=command), says("done")]
    async with FakeProvider(steps) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, session="s", **SETTINGS) as rt:
            agent = rt.agent(session="s")
            await agent.run("look")
            fork = await agent.fork(0, into=into)
            done = await agent.rewind(0)
        await model.aclose()
    return fork, done


async def test_what_cannot_be_reverted_is_named(workspace, tmp_path):
    """A folder and a file that took each other's place are not exchanged again."""
    command = "rm -r src/deep; echo new > src/deep"
    fork, done = await fork_and_rewind(workspace, tmp_path / "fork", command)

    assert "src/deep/raw.bin" in fork.messages[-1].text
    assert "src/deep/raw.bin" in str(done.not_reverted)


async def test_a_command_that_changed_nothing_here_is_no_reason_to_doubt(workspace, tmp_path):
    """A command may leave the files as they were."""
    command = "touch src/new; rm src/new"
    fork, done = await fork_and_rewind(workspace, tmp_path / "fork", command)

    assert "Not as at this point" not in fork.messages[-1].text
    assert done.not_reverted == ()


async def test_a_copy_that_fails_leaves_nothing_behind(workspace, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    async with FakeProvider([says("done")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, session="s", **SETTINGS) as rt:
            agent = rt.agent(session="s")
            await agent.run("look")
            monkeypatch.setattr("shutil.copyfileobj", refuse)
            with pytest.raises(ProblemRaised) as refused:
                await agent.fork(into=tmp_path / "fork")
        await model.aclose()

    assert refused.value.problem.code == "unavailable"
    assert "No space left" in refused.value.problem.message
    assert [one.name for one in tmp_path.iterdir()] == ["workspace"]


async def test_what_others_put_there_while_it_is_copied_stays(workspace, tmp_path, monkeypatch):
    into, copy = tmp_path / "fork", shutil.copyfileobj
    into.mkdir()

    def put_beside(*given):
        into.joinpath("theirs").write_text("kept\n")
        copy(*given)

    async with FakeProvider([says("done")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, session="s", **SETTINGS) as rt:
            agent = rt.agent(session="s")
            await agent.run("look")
            monkeypatch.setattr("shutil.copyfileobj", put_beside)
            with pytest.raises(ProblemRaised) as refused:
                await agent.fork(into=into)
        await model.aclose()

    assert refused.value.problem.code == "exists"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["fork", "workspace"]
    assert tree(into) == {"theirs": (0o644, b"kept\n")}


def handrail_program(code, *words, cwd):
    """Run `handrail` with the given words in a process of its own, after some code."""
    program = (
        f"import os, shutil, sys\n{code}\nfrom handrail.cli.main import main\nsys.exit(main())"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_kill_while_it_is_copied_leaves_the_directory_alone(workspace, tmp_path):
    workspace.chmod(0o750)
    script = tmp_path / "script.jsonl"
    script.write_text('{"text": "done"}\n')
    run = ("run", "--model", f"script:{script}", "--once", "--session", "s", "look")
    assert handrail_program("", *run, cwd=workspace).returncode == 0
    into = tmp_path / "fork"
    into.mkdir()
    kill = (
        "copied = []; real = shutil.copyfileobj\n"
        "def copy(*given):\n"
        "    copied.append(real(*given))\n"
        "    len(copied) == 2 and os.kill(os.getpid(), 9)\n"
        "shutil.copyfileobj = copy"
    )
    fork = ("session", "fork", "s", "--into", str(into))

    killed = handrail_program(kill, *fork, cwd=workspace)
    assert killed.returncode == -signal.SIGKILL
    assert list(into.iterdir()) == []
    into.joinpath("theirs").write_text("kept\n")
    refused = handrail_program("", *fork, cwd=workspace)
    assert (refused.returncode, into.joinpath("theirs").read_text()) == (1, "kept\n")
    into.joinpath("theirs").unlink()
    made = handrail_program("", *fork, cwd=workspace)

    assert made.returncode == 0, made.stderr
    assert tree(into) == tree(workspace)
    listed = json.loads(handrail_program("", "session", "--json", cwd=into).stdout)
    assert (listed["state"], listed["model"]) == ("new", f"script:{script}")
    assert stat.S_IMODE(into.stat().st_mode) == 0o750
    # The copy that was killed is gone as well.
    assert sorted(one.name for one in tmp_path.iterdir()) == ["fork", "script.jsonl", "workspace"]
