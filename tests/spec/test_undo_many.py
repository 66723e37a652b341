"""Undo of many files: in parts, linear, reported, resumable after a failure or a kill."""

import os
import signal
import subprocess
import sys

import pytest

import handrail
from handrail.core.events import CallProgress
from handrail.history.undo import run
from handrail.history.undo.run import files_per_part
from handrail.host.files.local_files import LocalFiles
from handrail.store.records import calls, traces
from handrail.store.sqlite import store

# Commands run without a question only where the sandbox holds them.
pytestmark = [pytest.mark.finding("F20"), pytest.mark.needs_sandbox]


@pytest.fixture
def parts_of(monkeypatch):
    """Make parts small, so that few files are many."""

    def limit(files):
        monkeypatch.setattr(run, "PART_FILES", files)

    return limit


def fill(workspace, count):
    for number in range(count):
        workspace.write(f"data/d{number // 10}/f{number}", f"file {number}\n" * 3)
    workspace.write("stays", "stays\n")
    os.symlink("f0", workspace.root / "data/d0/link")
    return workspace.tree()


def opened(workspace, tmp_path):
    return handrail.open(workspace.root, store=tmp_path / "store.db", mode="sandboxed")


async def test_a_command_that_removed_many_files_is_undone_and_redone_as_one(
    workspace, tmp_path, parts_of
):
    parts_of(16)
    before = fill(workspace, 70)
    events = []
    async with opened(workspace, tmp_path) as rt:
        removed = await rt.call("run_command", {"command": "rm -rf data"})
        undone = await rt.undo(on_event=events.append)
        assert workspace.tree() == before
        assert os.readlink(workspace.root / "data/d0/link") == "f0"
        redone = await rt.redo()
        assert set(workspace.tree()) == {"stays"}
        again = await rt.undo(removed.call_id)
        assert workspace.tree() == before
        taken = await rt.redo(again.call_id)
        nothing = await rt.redo(undone.call_id)

    assert removed.ok
    assert [one.ok for one in (undone, redone, again, taken)] == [True] * 4
    assert nothing.problem.code == "not_found"
    assert len(undone.changes) == len(undone.data["paths"]) == 79
    assert undone.data["undid"] == [removed.call_id]
    # Few names, however many files.
    assert len(undone.text.splitlines()) < 30
    assert "folders: 79 recreated" in undone.text
    reported = [one.text for one in events if isinstance(one, CallProgress)]
    assert reported == [f"{done} of 79 files" for done in (16, 32, 48, 64, 79)]


async def test_each_part_is_on_record_and_the_record_stays_whole(workspace, tmp_path, parts_of):
    parts_of(16)
    fill(workspace, 40)
    async with opened(workspace, tmp_path) as rt:
        await rt.call("run_command", {"command": "rm -rf data"})
        undone = await rt.undo()
        calls = await rt.store.calls(limit=10)

    parts = [one for one in calls if one.requested["tool"] == "undo"]
    assert parts[-1].call_id == undone.call_id
    assert len({one.intent["data"]["run"] for one in parts}) == 1
    assert [one.intent["data"]["rest"] for one in parts] == [0, 14, 30][: len(parts)]
    assert sum(len(one.completed["changes"]) for one in parts) == 46


async def test_a_model_undoes_a_part_with_each_call(workspace, tmp_path, parts_of):
    parts_of(16)
    before = fill(workspace, 20)
    async with opened(workspace, tmp_path) as rt:
        await rt.call("run_command", {"command": "rm -rf data"})
        first = await rt.call("undo", {})
        second = await rt.call("undo", {})
        third = await rt.call("undo", {})

    assert first.ok
    assert "16 of 24 files" in first.text
    assert second.ok
    assert "so far" not in second.text
    assert third.problem.code == "not_found"
    assert workspace.tree() == before


async def test_a_patch_of_many_files_is_undone_in_parts(workspace, tmp_path, parts_of):
    parts_of(16)
    for number in range(30):
        workspace.write(f"s{number}.txt", f"old {number}\n")
    before = workspace.tree()
    changes = [f"*** Update File: s{n}.txt\n@@\n-old {n}\n+new {n}" for n in range(30)]
    changes += [f"*** Add File: made/n{n}.txt\n+new {n}" for n in range(30)]
    patch = "\n".join(["*** Begin Patch", *changes, "*** End Patch"])
    async with opened(workspace, tmp_path) as rt:
        patched = await rt.call("apply_patch", {"patch": patch})
        after = workspace.tree()
        undone = await rt.undo()
        back = workspace.tree()
        redone = await rt.redo()

    assert patched.ok, patched.text
    assert undone.ok, undone.text
    assert back == before
    assert not (workspace.root / "made").exists() or redone.ok
    assert workspace.tree() == after


async def test_what_stops_a_part_leaves_the_parts_before_it_and_a_way_to_go_on(
    workspace, tmp_path, parts_of, monkeypatch
):
    parts_of(16)
    before = fill(workspace, 40)
    stage, fails = LocalFiles.stage, [True]

    def failing(files, change, *rest, **more):
        if fails and change.path == "data/d3/f39":
            raise handrail.ProblemRaised("unavailable", "the disk is full")
        return stage(files, change, *rest, **more)

    monkeypatch.setattr(LocalFiles, "stage", failing)
    async with opened(workspace, tmp_path) as rt:
        await rt.call("run_command", {"command": "rm -rf data"})
        stopped = await rt.undo()
        left = len(workspace.tree())
        fails.clear()
        rest = await rt.undo()

    assert not stopped.ok
    assert stopped.problem.code == "unavailable"
    assert stopped.problem.message.startswith("32 of 46 are")
    assert "`handrail undo` goes" in stopped.problem.hint
    assert len(stopped.changes) == 32
    assert 1 < left < len(before)
    assert rest.ok, rest.text
    assert workspace.tree() == before


async def test_a_lost_content_stops_it_and_force_brings_back_the_others(
    workspace, tmp_path, parts_of
):
    parts_of(16)
    before = fill(workspace, 40)
    async with opened(workspace, tmp_path) as rt:
        removed = await rt.call("run_command", {"command": "rm -rf data"})
        lost = next(one.before_hash for one in removed.changes if one.path == "data/d3/f35")
        for copy in tmp_path.rglob(f"*{lost}*"):
            copy.unlink()
        stopped = await rt.undo()
        rest = await rt.undo(force=True)

    assert stopped.problem.code == "not_found"
    assert "data/d3/f35" in stopped.problem.message
    assert rest.ok, rest.text
    assert "data/d3/f35" in rest.text
    del before["data/d3/f35"]
    assert workspace.tree() == before


async def test_a_conflict_is_found_before_the_first_file_comes_back(workspace, tmp_path, parts_of):
    parts_of(16)
    fill(workspace, 40)
    async with opened(workspace, tmp_path) as rt:
        await rt.call("run_command", {"command": "rm -rf data"})
        workspace.write("data/d3/f39", "somebody else's")
        refused = await rt.undo()

    assert refused.problem.code == "conflict"
    assert set(workspace.tree()) == {"stays", "data/d3/f39"}


async def test_a_users_undo_has_no_deadline_and_a_models_has_one(workspace, tmp_path, monkeypatch):
    before = fill(workspace, 20)
    monkeypatch.setattr("handrail.tools.session.undo.UndoTool.timeout_s", 1e-6)
    async with opened(workspace, tmp_path) as rt:
        await rt.call("run_command", {"command": "rm -rf data"})
        late = await rt.call("undo", {})
        undone = await rt.undo()

    assert late.problem.code == "timeout"
    assert undone.ok
    assert workspace.tree() == before


class Counts:
    """How often the record is decoded and the disk is asked, and how much text is decoded."""

    def __init__(self, monkeypatch):
        self.decoded = self.named = self.payloads = 0
        decode, named, payload = calls.decode_call, LocalFiles.named, store.RecordStore.old_contents

        def counting_decode(body, *trim):
            self.decoded += len(body or "")
            return decode(body, *trim)

        def counting_named(files, path):
            self.named += 1
            return named(files, path)

        async def counting_payload(store, row):
            self.payloads += 1
            return await payload(store, row)

        for module in (calls, traces, store):
            if hasattr(module, "decode"):
                monkeypatch.setattr(module, "decode", counting_decode)
        monkeypatch.setattr(LocalFiles, "named", counting_named)
        monkeypatch.setattr(store.RecordStore, "old_contents", counting_payload)

    def take(self):
        found = (self.decoded, self.named, self.payloads)
        self.decoded = self.named = self.payloads = 0
        return found


@pytest.mark.parametrize("command", ["rm -rf data", "find data -type f -exec sed -i s/e/E/ {} +"])
async def test_twice_the_files_take_twice_the_work(
    workspace, tmp_path, parts_of, monkeypatch, command
):
    parts_of(20)
    counts = Counts(monkeypatch)
    measured = {}
    for count in (200, 400):
        fill(workspace, count)
        store = tmp_path / f"store-{count}.db"
        async with handrail.open(workspace.root, store=store, mode="sandboxed") as rt:
            ran = await rt.call("run_command", {"command": command})
            counts.take()
            undone = await rt.undo()
            measured["undo", count] = counts.take()
            redone = await rt.redo()
            measured["redo", count] = counts.take()
            assert ran.ok, ran.text
            assert undone.ok, undone.text
            assert redone.ok, redone.text
        for path in sorted(workspace.root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

    for what in ("undo", "redo"):
        small, large = measured[what, 200], measured[what, 400]
        for one, two in zip(small, large, strict=True):
            assert two <= 2.3 * one + 5, (what, small, large)


def test_a_part_fits_the_handles_that_a_process_may_open(monkeypatch):
    limits = {"soft": 1024}
    monkeypatch.setattr(run.resource, "getrlimit", lambda _: (limits["soft"], limits["soft"]))
    assert files_per_part() == (1024 - 256) // 3
    limits["soft"] = 100_000
    assert files_per_part() == run.PART_FILES
    limits["soft"] = 64
    assert files_per_part() == 16


# Kills itself when so many files have become visible; small parts, so that several are done.
KILLED = """
import asyncio, os, signal, sys
import handrail
from handrail.history.undo import run as undo_run
from handrail.host.files.staged_change import StagedChange

root, store, limit, what = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
undo_run.PART_FILES = 16
publish, done = StagedChange.publish, 0

def counting(staged):
    global done
    publish(staged)
    done += 1
    if done == limit:
        os.kill(os.getpid(), signal.SIGKILL)

StagedChange.publish = counting

async def main():
    async with handrail.open(root, store=store, mode="sandboxed") as rt:
        result = await (rt.undo() if what == "undo" else rt.redo())
        assert result.ok, result.text

asyncio.run(main())
"""


def run_killed(workspace, store, limit, what):
    argv = [sys.executable, "-c", KILLED, str(workspace.root), str(store), str(limit), what]
    return subprocess.run(argv, timeout=100, check=False, capture_output=True)


@pytest.mark.parametrize("what", ["undo", "redo"])
async def test_killed_again_and_again_it_goes_on_where_it_was(workspace, tmp_path, what):
    before = fill(workspace, 60)
    store = tmp_path / "store.db"
    async with handrail.open(workspace.root, store=store, mode="sandboxed") as rt:
        assert (await rt.call("run_command", {"command": "rm -rf data"})).ok
        if what == "redo":
            assert (await rt.undo()).ok
    for limit in (20, 3, 20):
        ended = run_killed(workspace, store, limit, what)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
    ended = run_killed(workspace, store, 0, what)
    assert ended.returncode == 0, ended.stderr
    if what == "undo":
        assert workspace.tree() == before
        # All that was undone since comes back with one redo, whoever was killed in between.
        async with handrail.open(workspace.root, store=store, mode="sandboxed") as rt:
            redone = await rt.redo()
        assert redone.ok
    assert set(workspace.tree()) == {"stays"}


def test_the_command_line_says_little_and_shows_no_progress_in_a_pipe(workspace, tmp_path):
    before = fill(workspace, 40)
    program = (
        "import sys; from handrail.history.undo import run as undo_run; undo_run.PART_FILES = 16;"
        "from handrail.cli.main import main; sys.exit(main())"
    )

    def run(*words):
        argv = [sys.executable, "-c", program, *words]
        env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
        return subprocess.run(
            argv, cwd=workspace.root, env=env, timeout=100, check=False,
            capture_output=True, text=True,
        )  # fmt: skip

    removed = run("call", "run_command", '{"command": "rm -rf data"}', "--mode", "sandboxed")
    undone = run("undo")

    assert removed.returncode == 0, removed.stderr
    assert undone.returncode == 0, undone.stderr
    assert workspace.tree() == before
    assert undone.stderr == ""
    assert "folders: 46 recreated" in undone.stdout
    assert len(undone.stdout.splitlines()) < 30
