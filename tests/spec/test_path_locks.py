"""Several agents in one workspace: reserved paths, through the front door."""

import asyncio
import subprocess
import sys

import pytest
from tests.support.waiting import running

import handrail


def write(rt, path, agent):
    return rt.call("write_file", {"path": path, "content": f"{agent}\n"}, agent=agent)


@pytest.mark.feature("E57", "Q01", "R-14")
async def test_what_an_agent_has_locked_the_others_cannot_write(workspace, open_runtime):
    async with open_runtime() as rt:
        locked = await rt.call("lock_paths", {"globs": ["src/**", "a.toml"]}, agent="one")
        refused = await write(rt, "src/deep/x.py", "two")
        own = await write(rt, "src/deep/x.py", "one")
        beside = await write(rt, "docs/x.md", "two")
        tokens = [one["token"] for one in locked.data["acquired"]]
        given_back = await rt.call("unlock_paths", {"tokens": tokens}, agent="one")
        after = await write(rt, "src/deep/x.py", "two")

    assert [one["glob"] for one in locked.data["acquired"]] == ["src/**", "a.toml"]
    assert locked.data["denied"] == []
    assert (refused.problem.code, refused.problem.retryable) == ("conflict", True)
    assert "/one for another" in refused.problem.message
    assert [own.ok, beside.ok, after.ok] == [True, True, True]
    assert given_back.data == {"released": tokens, "unknown": []}
    assert workspace.read("src/deep/x.py") == b"two\n"


@pytest.mark.feature("Q01", "R-14")
async def test_locks_that_overlap_are_denied_and_ones_own_are_renewed(open_runtime):
    async with open_runtime() as rt:
        first = await rt.call("lock_paths", {"globs": ["src"]}, agent="one")
        again = await rt.call("lock_paths", {"globs": ["src"]}, agent="one")
        other = await rt.call("lock_paths", {"globs": ["src/a.py", "docs"]}, agent="two")
        stolen = first.data["acquired"][0]["token"]
        foreign = await rt.call("unlock_paths", {"tokens": [stolen]}, agent="two")

    assert again.data == first.data
    assert [one["glob"] for one in other.data["acquired"]] == ["docs"]
    assert [one["glob"] for one in other.data["denied"]] == ["src/a.py"]
    assert 0 < other.data["denied"][0]["for_s"] <= 300
    assert foreign.data["released"] == []


@pytest.mark.feature("R-14")
async def test_a_lock_runs_out(workspace, tmp_path, monkeypatch):
    async with handrail.open(workspace.root, store=tmp_path / "s.db", mode="accept-edits") as rt:
        await rt.call("lock_paths", {"globs": ["a.txt"], "ttl_s": 60}, agent="one")
        before = await write(rt, "a.txt", "two")
        now_ns = rt.store._now_ns
        monkeypatch.setattr(rt.store, "_now_ns", lambda: now_ns() + 61_000_000_000)
        after = await write(rt, "a.txt", "two")

    assert (before.ok, after.ok) == (False, True)


@pytest.mark.feature("Q01", "Q02")
async def test_locks_hold_between_runtimes_and_end_with_theirs(workspace, tmp_path):
    store = tmp_path / "s.db"
    async with handrail.open(workspace.root, store=store, mode="accept-edits") as rt:
        async with handrail.open(workspace.root, store=store, mode="accept-edits") as other:
            await other.call("lock_paths", {"globs": ["a.txt"]})
            during = await write(rt, "a.txt", "main")
        after = await write(rt, "a.txt", "main")

    assert (during.ok, after.ok) == (False, True)


LOCKS = """
import sys
import handrail.sync

with handrail.sync.open(sys.argv[1], store=sys.argv[2], session=sys.argv[3] or None) as rt:
    print(rt.call("lock_paths", {"globs": ["a.txt"], "ttl_s": 3600}).ok, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("session", ["", "named"])
async def test_the_locks_of_a_killed_process_are_free_unless_its_session_has_a_name(
    workspace, tmp_path, session
):
    store = tmp_path / "s.db"
    command = [sys.executable, "-c", LOCKS, workspace.root, store, session]
    async with handrail.open(workspace.root, store=store, mode="accept-edits") as rt:
        started = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with running(started) as other:
            locked = other.stdout.readline().strip()
            during = await write(rt, "a.txt", "main")
            other.kill()
        after = await write(rt, "a.txt", "main")
        lock = await rt.call("lock_paths", {"globs": ["a.txt"]})

    assert locked == "True"
    assert not during.ok
    assert (after.ok, bool(lock.data["acquired"])) == ((False, False) if session else (True, True))


@pytest.mark.needs_sandbox
@pytest.mark.feature("E57")
async def test_commands_respect_locks(workspace, open_runtime):
    workspace.write("mine/a.txt", "one\n")
    async with open_runtime(mode="sandboxed") as rt:
        await rt.call("lock_paths", {"globs": ["mine"]}, agent="one")
        named = await rt.call("run_command", {"command": "echo x > mine/a.txt"}, agent="two")
        hidden = "python3 -c \"open('mi'+'ne/a.txt','w').write('x')\""
        computed = await rt.call("run_command", {"command": hidden}, agent="two")
        looks = await rt.call("run_command", {"command": "cat mine/a.txt"}, agent="two")
        own = await rt.call("run_command", {"command": "echo two > mine/b.txt"}, agent="one")

    assert named.problem.code == "conflict"
    assert not computed.ok
    assert (looks.ok, own.ok) == (True, True)
    assert workspace.read("mine/a.txt") == b"one\n"


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize(
    "command",
    [
        "mv deep away",
        "python3 -c \"import os; os.rename('de'+'ep', 'away'); os.mkdir('deep')\"",
        "python3 -c \"import os; os.rename('deep/er', 'away'); os.makedirs('deep/er')\"",
    ],
)
async def test_what_is_locked_is_not_moved_away_with_its_folder(workspace, open_runtime, command):
    workspace.write("deep/er/a.txt", "one\n")
    workspace.write("deep/b.txt", "b\n")
    async with open_runtime(mode="sandboxed") as rt:
        await rt.call("lock_paths", {"globs": ["deep/er/a.txt"]}, agent="one")
        moved = await rt.call("run_command", {"command": command}, agent="two")
        beside = {"command": "python3 -c \"open('deep/b.txt', 'w').write('two')\""}
        written = await rt.call("run_command", beside, agent="two")

    assert not moved.ok
    assert written.ok
    assert workspace.tree() == {"deep/er/a.txt": b"one\n", "deep/b.txt": b"two"}


async def test_a_lock_taken_through_a_link_holds_by_every_name(workspace, open_runtime):
    workspace.write("real/a.txt", "one\n")
    (workspace.root / "link").symlink_to("real")
    async with open_runtime() as rt:
        await rt.call("lock_paths", {"globs": ["link/*.txt", "link/new/**"]}, agent="one")
        names = ("real/a.txt", "link/a.txt", "real/new/b.txt", "link/new/b.txt")
        refused = [(await write(rt, name, "two")).problem.code for name in names]
        beside = await write(rt, "real/c.md", "two")

    assert refused == ["conflict"] * 4
    assert beside.ok


async def test_the_person_stands_above_locks(workspace, open_runtime):
    async with open_runtime() as rt:
        await write(rt, "a.txt", "two")
        await rt.call("lock_paths", {"globs": ["a.txt"]}, agent="one")
        undone = await rt.undo()

    assert undone.ok
    assert workspace.tree() == {}


@pytest.mark.parametrize("glob", ["../x", "/etc/passwd", "a/../../b", " "])
async def test_only_paths_of_the_workspace_can_be_locked(open_runtime, glob):
    async with open_runtime() as rt:
        result = await rt.call("lock_paths", {"globs": [glob]})

    assert result.problem.code in ("invalid_arguments", "outside_workspace")


async def test_of_many_who_want_the_same_one_gets_it(open_runtime):
    async with open_runtime() as rt:
        asked = [
            rt.call("lock_paths", {"globs": ["src"]}, agent=f"agent{number}")
            for number in range(20)
        ]
        answers = await asyncio.gather(*asked)

    got = [one.data["acquired"] for one in answers if one.data["acquired"]]
    assert len(got) == 1


@pytest.mark.needs_bubblewrap
async def test_a_locked_folder_that_does_not_exist_says_why_commands_wait(workspace, open_runtime):
    call = {"command": f"{sys.executable} -c 'print(1)'"}
    async with open_runtime(mode="sandboxed") as rt:
        await rt.call("lock_paths", {"globs": ["gen/**"]}, agent="one")
        refused = await rt.call("run_command", call, agent="two")
        (workspace.root / "gen").mkdir()
        ran = await rt.call("run_command", call, agent="two")

    assert refused.problem.code == "conflict"
    assert "kept read-only" in refused.text
    assert refused.problem.hint.endswith("create the path")
    assert ran.ok, ran.text
