"""Defences behind the first one: each test removes or passes the first and shows that the second
holds by itself.
"""

import asyncio
import subprocess
import sys

import pytest
from tests.support.waiting import running, wait_until_async

import handrail
from handrail.core.problems import ProblemRaised
from handrail.host.files.staged_change import StagedChange
from handrail.host.state.file_locks import FileLocks

HOLDER = """
import sys
from pathlib import Path
from handrail.host.state.file_locks import FileLocks
held = FileLocks(Path(sys.argv[1])).try_acquire(sys.argv[2:])
print("held" if held else "busy", flush=True)
sys.stdin.read()
"""
EDIT = {"path": "a.txt", "old_string": "one", "new_string": "two"}
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+three\n*** End Patch\n"
BOTH = (
    "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+new\n"
    "*** Update File: b.txt\n@@\n-one\n+new\n*** End Patch\n"
)


def yes(request):
    return True


# --- files of a plan, locked between processes --------------------------------------------


@pytest.fixture
def lock_attempts(monkeypatch):
    """Every attempt to lock files between processes: directory, keys and whether it succeeded."""
    attempts = []
    original = FileLocks.try_acquire

    def try_acquire(self, keys):
        held = original(self, keys)
        attempts.append((self._directory, tuple(keys), held is not None))
        return held

    monkeypatch.setattr(FileLocks, "try_acquire", try_acquire)
    return attempts


@pytest.mark.finding("F26")
@pytest.mark.parametrize(
    ("call", "changed"),
    [
        # Its footprint names no file: only the plan does.
        (("undo", {}), b"one\n"),
        (("apply_patch", {"patch": PATCH}), b"three\n"),
        (("write_file", {"path": "a.txt", "content": "four\n"}), b"four\n"),
    ],
    ids=["undo", "apply_patch", "write_file"],
)
async def test_a_plan_waits_for_a_process_that_has_locked_one_of_its_files(
    workspace, tmp_path, lock_attempts, call, changed
):
    workspace.write("a.txt", "one\n")
    opened = handrail.open(workspace.root, store=tmp_path / "s.db", mode="accept-edits")
    async with opened as rt:
        await rt.call("read_file", {"path": "a.txt"})
        assert (await rt.call("edit_file", EDIT)).ok
        directory, keys, _ = lock_attempts[-1]
        lock_attempts.clear()
        command = [sys.executable, "-c", HOLDER, directory, *keys]
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with running(holder):
            assert holder.stdout.readline() == b"held\n"
            task = asyncio.create_task(rt.call(*call))
            await wait_until_async(lambda: lock_attempts or task.done())
            waits = not task.done(), lock_attempts[0][2], workspace.read("a.txt")
        result = await task

    assert waits == (True, False, b"two\n")
    assert result.ok, result.text
    assert workspace.read("a.txt") == changed


# --- a failed publish is put back at the second attempt -----------------------------------


@pytest.mark.finding("F26")
@pytest.mark.parametrize("failures", [1, 2], ids=["once", "twice"])
async def test_a_change_whose_first_attempt_to_be_put_back_fails_is_put_back_by_the_second(
    workspace, tmp_path, monkeypatch, failures
):
    """With two failures there is nothing left but to say so and to repair at the next opening."""
    before = {"a.txt": b"one\n", "b.txt": b"one\n"}
    for name, content in before.items():
        workspace.write(name, content)
    publish, revert = StagedChange.publish, StagedChange.revert
    left = [failures]

    def failing_publish(self):
        if self._change.path == "b.txt":
            raise ProblemRaised("unavailable", "the disk failed")
        publish(self)

    def failing_revert(self):
        if self._change.path == "a.txt" and left[0]:
            left[0] -= 1
            raise ProblemRaised("unavailable", "the disk failed again")
        revert(self)

    settings = {"store": tmp_path / "s.db", "mode": "accept-edits"}
    async with handrail.open(workspace.root, **settings) as rt:
        with monkeypatch.context() as patch:
            patch.setattr(StagedChange, "publish", failing_publish)
            patch.setattr(StagedChange, "revert", failing_revert)
            result = await rt.call("apply_patch", {"patch": BOTH})
        after = workspace.tree()
    async with handrail.open(workspace.root, **settings):
        repaired = workspace.tree()

    assert result.problem.code == "unavailable"
    assert left == [0]
    is_put_back = failures == 1
    assert after == (before if is_put_back else {**before, "a.txt": b"new\n"})
    assert ("nor reverted" in result.text) is not is_put_back
    assert repaired == before


# --- protected names, as the sandbox itself spells them -----------------------------------


@pytest.mark.finding("F26")
@pytest.mark.parametrize(
    "path",
    [
        ".VSCODE/tasks.json",
        ".VsCode./tasks.json",
        ".vs\u200ccode/tasks.json",
        ".vscode /tasks.json",
        "sub/.IDEA/workspace.xml",
        ".ENVRC",
        ".envrc.",
        ".env\ufeffrc",
        "Evil.PTH",
        ".GIT/hooks/pre-commit",
        ".g\u200dit/hooks/pre-commit",
    ],
)
async def test_a_command_leaves_no_protected_name_behind_however_it_is_spelled(
    workspace, open_runtime, path
):
    """What the command writes cannot be read from its text, so nothing but the look after it
    finds the name.
    """
    spelled = path.encode("unicode_escape").decode()
    code = (
        f"import os; path = '{spelled}'\n"
        "try:\n    os.path.dirname(path) and os.makedirs(os.path.dirname(path))\n"
        "    open(path, 'w').write('evil')\nexcept OSError: pass\n"
        "open('kept.txt', 'w').write('fine')"
    )
    workspace.write("script.py", code)
    workspace.write("sub/kept.txt", "")
    before = workspace.tree()

    async with open_runtime(approver=yes) as rt:
        result = await rt.call("run_command", {"command": f"{sys.executable} -B script.py"})

    assert result.data["exit_code"] == 0, result.text
    assert workspace.tree() == {**before, "kept.txt": b"fine"}


# --- an approved plan does not cover a protected name -------------------------------------


@pytest.mark.finding("F26")
@pytest.mark.parametrize("answer", [True, False])
async def test_a_protected_name_in_an_approved_plan_is_asked_about_by_itself(
    workspace, open_runtime, answer
):
    """Plan mode refuses such a name at once; here the file becomes one after it was queued,
    while the call and its plan stay exactly what was approved.
    """
    workspace.write("env.txt", "old\n")
    asked = []

    def person(request):
        asked.append(request)
        return answer

    async with open_runtime(mode="plan", approver=person) as rt:
        await rt.call("write_file", {"path": "a.txt", "content": "new\n"})
        await rt.call("write_file", {"path": "env.txt", "content": "new\n"})
        (workspace.root / ".envrc").symlink_to("env.txt")
        plain, protected = await rt.plan_queue.approve()

    assert plain.ok, plain.text
    assert [request.call_id for request in asked] == [protected.call_id]
    assert "'.envrc' is protected" in asked[0].reason
    assert protected.ok is answer
    assert workspace.read("env.txt") == (b"new\n" if answer else b"old\n")
