"""A named session whose process was killed goes on: what was read is known, calls that had changed
nothing are recorded as interrupted, changes that had happened are reported in full.
"""

import os
import signal
import subprocess
import sys

import pytest

import handrail
from handrail.store.chain.verify import verify

pytestmark = pytest.mark.finding("F27")

SCRIPT = """
import asyncio, os, signal, sys
import handrail
from handrail.engine.recording.recorder import Recorder

die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)

async def ask(*_):
    await rt.store.flush()
    die()

async def main(root, store, calls, how):
    global rt
    mode = "default" if how == "at the question" else "accept-edits"
    async with handrail.open(root, store=store, mode=mode, session="s", dialect="claude",
                             approver=ask if how == "at the question" else None) as rt:
        for name, arguments, id, agent in eval(calls):
            if id == "last" and how == "before its end":
                Recorder.settle = die
            result = await rt.call(name, arguments, id=id, agent=agent)
            print(result.text, flush=True)
            assert result.ok
        if how == "after a flush":
            await rt.store.flush()
        die()

asyncio.run(main(*sys.argv[1:5]))
"""


@pytest.fixture
def killed(workspace, tmp_path):
    """Make calls in a process that is killed then; returns what the calls said."""

    def run(how, *calls):
        full = [(*call, "main")[:4] for call in calls]
        words = [workspace.root, tmp_path / "s.db", repr(full), how]
        done = subprocess.run(
            [sys.executable, "-P", "-c", SCRIPT, *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL
        return done.stdout.decode()

    return run


@pytest.fixture
def reopen(workspace, tmp_path):
    def opened(session="s", dialect="claude"):
        return handrail.open(
            workspace.root,
            store=tmp_path / "s.db",
            mode="accept-edits",
            session=session,
            dialect=dialect,
        )

    return opened


READ = ("Read", {"file_path": "a.txt"}, "r")


def edit(old, new):
    return "Edit", {"file_path": "a.txt", "old_string": old, "new_string": new}


async def test_what_was_read_before_the_kill_may_be_edited(workspace, killed, reopen):
    workspace.write("a.txt", "one\ntwo\n")
    workspace.write("b.txt", "never read\n")
    killed("after a flush", READ)

    async with reopen() as rt:
        done = await rt.call(*edit("one", "1"))
        unread = await rt.call("Edit", {"file_path": "b.txt", "old_string": "n", "new_string": "N"})

    assert done.ok, done.text
    assert workspace.read("a.txt") == b"1\ntwo\n"
    assert unread.problem.code == "stale"


async def test_a_read_that_is_repeated_after_the_kill_counts(workspace, killed, reopen):
    workspace.write("a.txt", "one\ntwo\n")
    killed("at once", READ)

    async with reopen() as rt:
        again = await rt.call(*READ[:2], id=READ[2])
        done = await rt.call(*edit("one", "1"))

    assert again.ok, again.text
    assert done.ok, done.text


async def test_it_survives_kills_closings_and_a_change_from_outside(workspace, killed, reopen):
    workspace.write("a.txt", "one\ntwo\n")
    killed("after a flush", READ)
    async with reopen() as rt:
        assert (await rt.call(*edit("one", "1"))).ok
    killed("after a flush", (*edit("1", "eins"), "second"))
    workspace.write("a.txt", "somebody else's\n")

    async with reopen() as rt:
        refused = await rt.call("Write", {"file_path": "a.txt", "content": "mine\n"})

    assert refused.problem.code == "stale"
    assert workspace.read("a.txt") == b"somebody else's\n"


async def test_what_was_read_is_kept_by_agent(workspace, killed, reopen):
    workspace.write("a.txt", "one\n")
    workspace.write("b.txt", "two\n")
    killed("after a flush", READ, ("Read", {"file_path": "b.txt"}, "q", "scout"))

    async with reopen() as rt:
        _, noted = await rt.store.parts_of_calls("s", "reads", 0)
    async with reopen() as rt:
        kept = (await rt.store.load_state("s"))["reads"]

    files = {"main": [str(workspace.root / "a.txt")], "scout": [str(workspace.root / "b.txt")]}
    assert {one["agent"]: list(one["files"]) for one in noted} == files
    assert {agent: list(one) for agent, one in kept["agents"].items()} == files


async def test_a_call_that_was_killed_at_its_question_is_interrupted(workspace, killed, reopen):
    call = ("Write", {"file_path": "a.txt", "content": "x\n"})
    killed("at the question", (*call, "asked"))

    async with reopen() as rt:
        [record] = await rt.store.calls(session="s")
        again = await rt.call(*call, id="asked")
        calls = await rt.store.calls(session="s", call_id="asked")

    assert (record.completed["status"], record.intent) == ("interrupted", None)
    assert rt.recovered == []
    assert again.ok, again.text
    assert [one.completed["status"] for one in calls] == ["ok", "interrupted"]
    assert workspace.read("a.txt") == b"x\n"
    assert verify(rt.store.path).broken is None


async def test_a_change_whose_end_was_cut_off_is_reported_as_it_would_have_been(
    workspace, killed, reopen, tmp_path
):
    workspace.write("a.txt", "one\ntwo\n")
    killed("before its end", READ, (*edit("one", "1"), "last"))
    assert workspace.read("a.txt") == b"1\ntwo\n"

    async with reopen() as rt:
        [recovered] = rt.recovered
        result = await rt.call(*edit("one", "1"), id="last")
        live = await rt.call(*edit("1", "one"))
        overwritten = await rt.call("Write", {"file_path": "a.txt", "content": "all\n"})

    assert recovered.status == "ok"
    assert result.ok
    assert result.text.startswith("a.txt: 1 replacement at")
    assert "\n-one\n+1\n" in result.text
    assert [(one.path, one.operation) for one in result.changes] == [("a.txt", "write")]
    assert result.data["replacements"] == 1
    assert live.ok, live.text
    assert overwritten.ok, overwritten.text


async def test_a_file_that_was_made_before_the_kill_is_known(workspace, killed, reopen):
    killed("before its end", ("Write", {"file_path": "a.txt", "content": "x\ny\n"}, "last"))

    async with reopen() as rt:
        result = await rt.call("Write", {"file_path": "a.txt", "content": "x\ny\n"}, id="last")
        done = await rt.call(*edit("x", "z"))

    assert result.text.splitlines()[0] == "created a.txt (2 lines, 4 bytes)"
    assert done.ok, done.text


async def test_dead_sessions_are_closed_in_the_ledger(workspace, killed, reopen, tmp_path):
    workspace.write("a.txt", "one\n")
    killed("after a flush", READ)
    before = verify(tmp_path / "s.db")

    async with reopen("another"):
        during = verify(tmp_path / "s.db", before.head)
    killed("after a flush", (*READ[:2], "again"))
    async with reopen():
        pass
    after = verify(tmp_path / "s.db", before.head)

    assert list(before.open_sessions) == ["s"]
    assert (list(during.open_sessions), during.anchored) == (["another"], True)
    assert (after.broken, after.open_sessions, after.anchored) == (None, {}, True)


async def test_the_directory_of_commands_survives(workspace, tmp_path, killed, reopen):
    workspace.write("below/a.txt", "one\n")
    killed("after a flush", ("Bash", {"command": "cd below"}, "cd"))

    async with reopen() as rt:
        assert rt.session.working_directory.directory == str(workspace.root / "below")
