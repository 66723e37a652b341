"""Taking back what commands did, through the front door, in a folder without git."""

import asyncio
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest
from tests.support.waiting import join_threads, wait_until

import handrail.sync
from handrail import Status
from handrail.cli.main import main


def yes(request):
    return True


def snapshot(root: Path) -> dict[str, object]:
    """Everything below a folder: contents, modes, links, folders."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        name = str(path.relative_to(root))
        if stat.S_ISLNK(info.st_mode):
            found[name] = ("link", os.readlink(path))
        elif stat.S_ISREG(info.st_mode):
            found[name] = (stat.S_IMODE(info.st_mode), path.read_bytes())
        else:
            found[name] = "folder"
    return found


@pytest.fixture
def recorded(open_runtime, tmp_path):
    """Runtimes with a store on disk, in which commands run without a question."""

    def opened(**settings):
        settings = {
            "store": tmp_path / "store.db",
            "mode": "sandboxed",
            "approver": yes,
            **settings,
        }
        return open_runtime(**settings)

    return opened


FORMATTER = """
import os, pathlib
for number, path in enumerate(sorted(pathlib.Path('src').rglob('*.py'))):
    if number % 26 == 25:
        path.unlink()
        continue
    text = path.read_bytes()
    if number % 2:
        path.write_bytes(text.replace(b'\\t', b'    ').rstrip() + b'\\n')
    else:
        temp = path.with_suffix('.tmp')
        temp.write_bytes(text.upper())
        temp.replace(path)
"""


@pytest.mark.needs_sandbox
@pytest.mark.feature("R-16", "T02")
async def test_a_formatter_over_500_files_that_deleted_20_is_taken_back_byte_by_byte(
    recorded, workspace
):
    for number in range(520):
        odd = b"\r\n" if number % 3 else b"\n"
        content = b"\tdef f():" + odd + bytes([number % 256, 255]) * (number % 50) + b" " * 3
        path = workspace.write(f"src/p{number % 7}/f{number}.py", content)
        path.chmod(0o755 if number % 5 == 0 else 0o640)
    workspace.write("notes.txt", "mine\n")
    workspace.write(".gitignore", "build\n")
    workspace.write("build/out.o", b"\x00\x01")
    before = snapshot(workspace.root)
    async with recorded() as rt:
        result = await rt.call(
            "execute_code", {"language": "python", "code": FORMATTER}, id="format"
        )
        after = snapshot(workspace.root)
        undone = await rt.undo("format")
        restored = snapshot(workspace.root)
        redone = await rt.redo("format")

    assert result.ok, result.text
    assert result.meta["undo"] == "full"
    operations = [change.operation for change in result.changes]
    assert (operations.count("delete"), len(operations)) == (20, 520)
    assert sum(1 for name in before if after.get(name) != before[name]) == 520
    assert undone.ok, undone.text
    assert restored == before
    assert redone.ok
    assert snapshot(workspace.root) == after


async def test_an_edit_of_a_person_in_the_same_moment_stays(recorded, workspace):
    """The command waits until the person has saved, so both happen while it runs."""
    workspace.write("code.py", "old\n")
    workspace.write("essay.txt", "draft\n")
    code = (
        "import os,time\nopen('code.py','w').write('new\\n')\nopen('go','w').close()\n"
        "while not os.path.exists('saved'): time.sleep(.01)\nopen('more.py','w').write('x')\n"
    )
    saved = threading.Thread(target=_person, args=(workspace,))
    saved.start()
    async with recorded() as rt:
        result = await rt.call("execute_code", {"language": "python", "code": code}, id="both")
        join_threads(saved)
        undone = await rt.undo("both")

    assert result.ok, result.text
    assert {change.path for change in result.changes} == {"code.py", "go", "more.py"}
    assert result.meta["unattributed"] == ["essay.txt", "new-idea.txt", "saved"]
    assert "essay.txt" in result.text
    assert undone.ok, undone.text
    assert workspace.tree() == {
        "code.py": b"old\n", "essay.txt": b"finished\n", "new-idea.txt": b"!", "saved": b""
    }  # fmt: skip


def _person(workspace):
    wait_until((workspace.root / "go").exists)
    workspace.write("essay.txt", "finished\n")
    workspace.write("new-idea.txt", "!")
    workspace.write("saved", "")


async def test_an_unattributed_change_is_taken_back_when_it_is_named(recorded, workspace):
    workspace.write("essay.txt", "draft\n")
    code = (
        "import os,time\nopen('go','w').close()\nwhile not os.path.exists('saved'): time.sleep(.01)"
    )
    person = threading.Thread(target=_person, args=(workspace,))
    person.start()
    async with recorded() as rt:
        await rt.call("execute_code", {"language": "python", "code": code}, id="both")
        join_threads(person)
        by_name = await rt.call("undo", {"scope": "path", "target": "essay.txt"})

    assert by_name.ok, by_name.text
    assert workspace.read("essay.txt") == b"draft\n"


async def test_a_file_that_a_person_changed_and_then_the_command_is_not_taken_back(
    recorded, workspace
):
    """Its old content would take the person's words with it."""
    workspace.write("shared.txt", "first\n")
    code = (
        "import os,time\nopen('go','w').close()\n"
        "while not os.path.exists('saved'): time.sleep(.01)\n"
        "open('shared.txt','a').write('the command\\n')\n"
    )

    def person():
        wait_until((workspace.root / "go").exists)
        workspace.write("shared.txt", "a person's words\n")
        workspace.write("saved", "")

    thread = threading.Thread(target=person)
    thread.start()
    async with recorded() as rt:
        result = await rt.call("execute_code", {"language": "python", "code": code}, id="both")
        join_threads(thread)
        await rt.undo("both")

    assert "shared.txt" in result.meta["unattributed"]
    assert workspace.read("shared.txt") == b"a person's words\nthe command\n"


async def test_a_file_changed_after_the_command_is_a_conflict(recorded, workspace):
    workspace.write("a.txt", "1\n")
    async with recorded() as rt:
        await rt.call("run_command", {"command": "echo 2 > a.txt; echo n > b.txt"}, id="write")
        workspace.write("a.txt", "a person\n")
        undone = await rt.undo("write")

    assert undone.problem.code == "conflict"
    assert "a.txt" in undone.problem.message
    assert workspace.tree() == {"a.txt": b"a person\n", "b.txt": b"n\n"}


@pytest.mark.needs_sandbox
@pytest.mark.parametrize(
    "command",
    [
        "rm -rf tree",
        "mv tree other",
        "sed -i s/one/two/ tree/a.txt",
        "echo more >> tree/a.txt && rm tree/deep/b.txt",
        "cp -r tree copy",
        "mkdir -p new/deep && echo x > new/deep/file",
        "truncate -s 0 tree/a.txt",
        "chmod 600 tree/a.txt",
        "for f in tree/*.txt; do mv $f ${f%.txt}.md; done",
        "python3 -c \"import shutil; shutil.rmtree('tree')\"",
        "rm tree/* -r",
    ],
)
async def test_commands_come_back_exactly(recorded, workspace, command):
    workspace.write("tree/a.txt", "one\n").chmod(0o644)
    workspace.write("tree/deep/b.txt", b"\xff\x00two")
    workspace.write("beside.txt", "beside")
    before = snapshot(workspace.root)
    async with recorded() as rt:
        result = await rt.call("run_command", {"command": command}, id="run")
        changed = snapshot(workspace.root)
        undone = await rt.undo("run")

    assert result.ok, result.text
    assert result.meta["undo"] == "full", result.meta
    assert changed != before
    assert undone.ok, undone.text
    assert snapshot(workspace.root) == before


@pytest.mark.needs_sandbox
@pytest.mark.parametrize(
    "command",
    [
        "ln -s one link; echo written > link",
        "ln -s folder link; echo written > link/new; rm link/two",
        "ln -s folder/brand_new link; echo written | tee link",
        "ln -sfn one old; echo written > old",
        "cp -a old copied; echo written > copied",
        "mv old moved; echo written >> moved",
        "mv holder other; echo written > other/link",
        "cp -r source/. holder",
        "cp source/* holder",
        "echo written | tee holder/*",
        "chmod 600 holder/*",
    ],
)
async def test_what_a_command_writes_through_links_comes_back(recorded, workspace, command):
    (workspace.root / "holder").mkdir()
    for name in ("one", "folder/two", "source/link"):
        workspace.write(name, f"{name}\n")
    (workspace.root / "old").symlink_to("folder/two")
    (workspace.root / "holder/link").symlink_to("../one")
    before = snapshot(workspace.root)
    async with recorded() as rt:
        done = await rt.call("run_command", {"command": command}, id="run")
        after = snapshot(workspace.root)
        undone = await rt.undo("run")

    assert done.ok, done.text
    names = before.keys() | after.keys()
    changed = {name for name in names if before.get(name) != after.get(name)}
    assert changed & {"one", "folder/two", "folder/new", "folder/brand_new"}
    folders = {name for name in names if "folder" in (before.get(name), after.get(name))}
    assert changed - folders <= {change.path for change in done.changes}
    assert undone.ok, undone.text
    assert snapshot(workspace.root) == before


@pytest.mark.needs_sandbox
async def test_a_program_that_took_the_place_of_a_link_is_redone_with_its_mode(recorded, workspace):
    workspace.write("program", "#!/bin/sh\n").chmod(0o755)
    (workspace.root / "link").symlink_to("elsewhere")
    async with recorded() as rt:
        await rt.call("run_command", {"command": "mv program link"}, id="run")
        after = snapshot(workspace.root)
        await rt.undo("run")
        await rt.redo("run")

    assert after["link"] == (0o755, b"#!/bin/sh\n")
    assert snapshot(workspace.root) == after


@pytest.mark.needs_sandbox
async def test_what_cannot_be_brought_back_is_named(recorded, workspace):
    workspace.write(".env", "TOKEN=1\n")
    workspace.write("big.bin", b"x" * (2 << 20))
    workspace.write("small", "1")
    os.symlink("small", workspace.root / "link")
    code = (
        "import os\nopen('.env','w').write('TOKEN=2')\nopen('big.bin','ab').write(b'y')\n"
        "open('small','w').write('2')\nos.unlink('link')\nos.mkfifo('pipe')\nos.mkdir('empty')\n"
    )
    async with recorded(config={"shadow_file_mb": 1}) as rt:
        result = await rt.call("execute_code", {"language": "python", "code": code}, id="run")
        undone = await rt.undo("run")

    assert result.meta["undo"] == "partial"
    assert set(result.meta["undo_left_out"]) == {".env", "big.bin", "pipe"}
    assert "secrets" in result.meta["undo_left_out"][".env"]
    assert "undo cannot restore" in result.text
    assert [change.path for change in result.changes] == ["link", "small"]
    assert undone.ok, undone.text
    assert workspace.read("small") == b"1"
    assert workspace.read(".env") == b"TOKEN=2"


@pytest.mark.needs_sandbox
async def test_a_large_file_that_a_command_made_goes_again(recorded, workspace):
    code = "open('made.bin','wb').write(b'x' * (3 << 20))"
    async with recorded(config={"shadow_file_mb": 1}) as rt:
        result = await rt.call("execute_code", {"language": "python", "code": code}, id="run")
        undone = await rt.undo("run")

    assert result.meta["undo"] == "full"
    assert undone.ok, undone.text
    assert workspace.tree() == {}


@pytest.mark.needs_sandbox
async def test_a_secret_that_a_command_makes_leaves_no_copy(recorded, workspace, tmp_path):
    async with recorded() as rt:
        result = await rt.call("run_command", {"command": "echo S3CRET > .env.local"}, id="run")
        undone = await rt.undo("run")

    state = tmp_path / "store.db.d"
    assert result.meta["undo"] == "full"
    assert undone.ok
    assert workspace.tree() == {}
    assert not any(
        b"S3CRET" in path.read_bytes()
        for part in ("shadow", "blobs")
        for path in (state / part).rglob("*")
        if path.is_file()
    )


@pytest.mark.needs_sandbox
async def test_every_result_of_a_command_says_what_can_be_undone(recorded, workspace):
    async with recorded() as rt:
        safe = await rt.call("run_command", {"command": "ls"})
        nothing = await rt.call("run_command", {"command": "python3 -c pass"})
        failing = await rt.call("run_command", {"command": "echo x > a; false"}, id="failing")
        undone = await rt.undo("failing")
    async with recorded(config={"journal": False}) as rt:
        without = await rt.call("run_command", {"command": "echo x > b"})

    assert [one.meta["undo"] for one in (safe, nothing, failing, without)] == [
        "full", "full", "full", "none"
    ]  # fmt: skip
    assert failing.status is Status.FAILED
    assert undone.ok, undone.text
    assert workspace.tree() == {"b": b"x\n"}


@pytest.mark.needs_sandbox
async def test_without_a_shadow_only_what_a_command_names_comes_back(recorded, workspace):
    workspace.write("named.txt", "1")
    workspace.write("other.txt", "1")
    async with recorded(config={"shadow": False}) as rt:
        code = "open('other.txt','w').write('2')"
        open_ended = await rt.call("execute_code", {"language": "python", "code": code})
        named = await rt.call("run_command", {"command": "echo 2 > named.txt"}, id="named")
        undone = await rt.undo("named")

    assert open_ended.meta["undo"] == "partial"
    assert open_ended.meta["undo_left_out"] == {".": "the setting `shadow` is off"}
    assert named.meta["undo"] == "full"
    assert undone.ok, undone.text
    assert workspace.tree() == {"named.txt": b"1", "other.txt": b"2"}


@pytest.mark.needs_sandbox
async def test_a_commit_is_left_to_git_and_said(recorded, workspace):
    workspace.write("a.txt", "1\n")
    named = ("config user.name a", "config user.email a@b")
    for words in ("init -q -b main", *named, "add .", "commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=workspace.root, check=True)
    first = _head(workspace.root)
    async with recorded() as rt:
        commit = await rt.call(
            "run_command",
            {"command": "echo 2 > a.txt && git commit -qam two"},
            id="commit",
        )
        undone = await rt.undo("commit")

    assert commit.ok, commit.text
    assert commit.meta["undo"] == "partial"
    made = (
        f"made commit {_head(workspace.root)[:10]} on main, which stays; "
        f"`git reset --soft {first[:10]}` takes it back"
    )
    assert commit.meta["undo_left_out"] == {".git": made}
    assert undone.ok, undone.text
    assert f"without .git ({made}" in undone.text
    assert workspace.read("a.txt") == b"1\n"
    subprocess.run(["git", "reset", "-q", "--soft", first[:10]], cwd=workspace.root, check=True)
    assert _head(workspace.root) == first


def _head(root):
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True)
    return asked.stdout.decode().strip()


async def test_what_a_command_wrote_before_it_was_cancelled_can_be_undone(recorded, workspace):
    workspace.write("a.txt", "1\n")
    code = "import time\nopen('a.txt','w').write('2')\nopen('begun','w').close()\ntime.sleep(60)"
    async with recorded() as rt:
        call = asyncio.create_task(
            rt.call("execute_code", {"language": "python", "code": code}, id="slow")
        )
        with anyio.fail_after(20):
            while not (workspace.root / "begun").exists():
                await asyncio.sleep(0.02)
        await rt.cancel("slow")
        result = await call
        undone = await rt.undo("slow")

    assert result.status is Status.INTERRUPTED
    assert {change.path for change in result.changes} == {"a.txt", "begun"}
    assert undone.ok, undone.text
    assert workspace.tree() == {"a.txt": b"1\n"}


async def test_what_commands_of_a_cancelled_batch_wrote_can_be_undone(recorded, workspace):
    workspace.write("a.txt", "1\n")
    code = "import time\nopen('a.txt','w').write('2')\nopen('begun','w').close()\ntime.sleep(60)"
    call = {"id": "slow", "name": "execute_code", "arguments": {"language": "python", "code": code}}
    async with recorded() as rt:
        batch = asyncio.create_task(rt.batch([call]))
        with anyio.fail_after(20):
            while not (workspace.root / "begun").exists():
                await asyncio.sleep(0.02)
        batch.cancel()
        await asyncio.wait([batch])
        undone = await rt.undo("slow")

    assert undone.ok, undone.text
    assert workspace.tree() == {"a.txt": b"1\n"}


async def test_protected_names_that_were_put_back_are_no_change(recorded, workspace):
    workspace.write(".vscode/tasks.json", "{}")
    code = "open('.envrc','w').write('evil')\nopen('kept.txt','w').write('fine')\n"
    async with recorded() as rt:
        result = await rt.call("execute_code", {"language": "python", "code": code}, id="plant")
        undone = await rt.undo("plant")

    assert result.problem.code == "tampered"
    assert [change.path for change in result.changes] == ["kept.txt"]
    assert undone.ok, undone.text
    assert workspace.tree() == {".vscode/tasks.json": b"{}"}


@pytest.mark.needs_sandbox
async def test_a_further_root_is_covered_too(recorded, workspace, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.txt").write_text("1")
    code = f"open({str(other / 'x.txt')!r},'w').write('2')"
    async with recorded(directories=[other]) as rt:
        result = await rt.call("execute_code", {"language": "python", "code": code}, id="run")
        undone = await rt.undo("run")

    assert result.meta["undo"] == "full"
    assert undone.ok, undone.text
    assert (other / "x.txt").read_text() == "1"


async def test_a_later_runtime_takes_back_what_an_earlier_one_ran(recorded, workspace):
    workspace.write("a.txt", "1\n")
    async with recorded() as rt:
        await rt.call("run_command", {"command": "python3 -c \"open('a.txt','w')\""}, id="run")
    async with recorded() as rt:
        undone = await rt.undo("run")

    assert undone.ok, undone.text
    assert workspace.read("a.txt") == b"1\n"


async def test_what_is_gone_from_the_copies_is_kept_for_undo(recorded, workspace, tmp_path):
    workspace.write("a.txt", "1\n" * 50_000)
    async with recorded() as rt:
        await rt.call("run_command", {"command": "python3 -c \"open('a.txt','w')\""}, id="run")
    shutil.rmtree(tmp_path / "store.db.d" / "shadow")
    async with recorded() as rt:
        undone = await rt.undo("run")

    assert undone.ok, undone.text
    assert workspace.read("a.txt") == b"1\n" * 50_000


async def test_outside_of_the_sandbox_undo_is_never_said_to_be_full(recorded, workspace):
    async with recorded() as rt:
        result = await rt.call(
            "run_command", {"command": "echo x > a.txt", "unconfined": True}, id="out"
        )
        undone = await rt.undo("out")

    assert result.ok, result.text
    assert result.meta["undo"] == "partial"
    assert "outside of the workspace" in result.meta["undo_left_out"]
    assert undone.ok
    assert workspace.tree() == {}


async def test_a_command_that_cannot_be_looked_at_runs_and_says_so(
    recorded, workspace, monkeypatch
):
    def full(self, scopes, progress=None):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("handrail.host.snapshots.local_snapshots.LocalSnapshots.capture", full)
    async with recorded() as rt:
        result = await rt.call("run_command", {"command": "echo x > a.txt"})

    assert result.ok, result.text
    assert result.meta["undo"] == "none"


async def test_without_anybody_watching_a_sibling_makes_changes_doubtful(
    recorded, workspace, monkeypatch
):
    """Where the kernel shows us nothing, only what the command's text names is its doing."""
    monkeypatch.setattr(
        "handrail.host.snapshots.local_snapshots.LocalSnapshots.new_write_log", lambda self: ""
    )
    workspace.write("a.txt", "1")
    code = "open('a.txt','w').write('2')"
    async with recorded() as rt, recorded():
        among = await rt.call("execute_code", {"language": "python", "code": code}, id="among")
        refused = await rt.undo("among")
    workspace.write("a.txt", "1")
    async with recorded() as rt:
        alone = await rt.call("execute_code", {"language": "python", "code": code})

    assert (among.changes, among.meta["unattributed"]) == ((), ["a.txt"])
    assert "execute_code (among), and left: a.txt" in refused.text
    assert "name a file" in refused.problem.hint
    assert [change.path for change in alone.changes] == ["a.txt"]


@pytest.mark.needs_sandbox
async def test_undo_works_from_the_command_line(workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(workspace.root)
    workspace.write("a.txt", "1\n")
    command = "command=python3 -c \"open('a.txt','w').write('2')\""

    ran = await anyio.to_thread.run_sync(
        main, ["--mode", "sandboxed", "call", "run_command", command]
    )
    changed = workspace.read("a.txt")
    undone = await anyio.to_thread.run_sync(main, ["undo"])

    assert (ran, changed, undone) == (0, b"2", 0)
    assert workspace.read("a.txt") == b"1\n"


async def test_jobs_are_taken_back_by_their_number(recorded, workspace):
    workspace.write("a.txt", "1\n")
    workspace.write("mine.txt", "1\n")
    code = "open('a.txt','w').write('2')"
    async with recorded() as rt:
        started = await rt.call(
            "run_command", {"command": f'python3 -c "{code}"', "background": True}
        )
        job = started.data["job"]
        await rt.jobs.output(job, wait_s=20)
        workspace.write("mine.txt", "2\n")
        undone = await rt.undo(f"job:{job}")

    assert started.meta["undo"] == "partial"
    assert f"job:{job}" in started.meta["undo_left_out"]
    assert undone.ok, undone.text
    assert workspace.tree() == {"a.txt": b"1\n", "mine.txt": b"2\n"}


async def test_a_job_that_ends_with_the_runtime_is_recorded(recorded, workspace):
    workspace.write("a.txt", "1\n")
    code = "import time; open('a.txt','w').write('2'); open('up','w').close(); time.sleep(60)"
    async with recorded() as rt:
        started = await rt.call(
            "run_command", {"command": f'python3 -c "{code}"', "background": True}
        )
        with anyio.fail_after(20):
            while not (workspace.root / "up").exists():
                await asyncio.sleep(0.02)
    async with recorded() as rt:
        undone = await rt.undo(f"job:{started.data['job']}")

    assert undone.ok, undone.text
    assert workspace.tree() == {"a.txt": b"1\n"}


async def test_a_job_that_outlives_its_runtime_is_recorded_as_far_as_it_came(
    recorded, workspace, tmp_path
):
    workspace.write("a.txt", "1\n")
    code = (
        "import os,time\nopen('a.txt','w').write('2')\nopen('made','w').close()\n"
        "while not os.path.exists('stop'): time.sleep(.01)\nopen('late','w').close()"
    )
    workspace.write("job.py", code)
    async with recorded(config={"keep_jobs": True}) as rt:
        call = {"command": "python3 job.py", "background": True}
        started = await rt.call("run_command", call)
        job = started.data["job"]
        with anyio.fail_after(30):
            notes = tmp_path / "store.db.d" / "shadow"
            while not any(b"/made" in one.read_bytes() for one in notes.glob("*/notes/*")):
                await asyncio.sleep(0.02)
    workspace.write("stop", "")
    with anyio.fail_after(30):
        while not (workspace.root / "late").exists():
            await asyncio.sleep(0.02)
    async with recorded() as rt:
        undone = await rt.undo(f"job:{job}")

    assert "after that is not" in started.meta["undo_left_out"][f"job:{job}"]
    assert undone.ok, undone.text
    assert f"{job}) is known" in undone.text
    assert f"without job:{job}" not in undone.text
    assert workspace.tree() == {
        "a.txt": b"1\n", "job.py": code.encode(), "late": b"", "stop": b""
    }  # fmt: skip


async def test_a_jobs_doings_are_not_the_next_commands(recorded, workspace):
    loop = "while not __import__('os').path.exists('go'): pass"
    code = f"{loop}\nopen('by-job','w').close()"
    async with recorded() as rt:
        script = workspace.write("job.py", code)
        await rt.call("run_command", {"command": f"python3 {script.name}", "background": True})
        command = (
            "import os\nopen('go','w').close()\nopen('by-command','w').close()\n"
            "while not os.path.exists('by-job'): pass"
        )
        result = await rt.call("execute_code", {"language": "python", "code": command})

    assert {change.path for change in result.changes} == {"go", "by-command"}
    assert result.meta["unattributed"] == ["by-job"]


@pytest.mark.needs_sandbox
def test_sync_results_carry_the_word_too(workspace):
    with handrail.sync.open(workspace.root, store=":memory:", mode="sandboxed") as rt:
        assert rt.call("run_command", {"command": "echo x > a.txt"}).meta["undo"] == "full"


KILLED = """
import asyncio, os, signal, sys
import handrail

async def main(root, store, code):
    async with handrail.open(root, store=store, mode="sandboxed") as rt:
        asyncio.create_task(rt.call("execute_code", {"language": "python", "code": code}, id="dies"))
        async with asyncio.timeout(60):
            while not os.path.exists(os.path.join(root, "begun")):
                await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.needs_sandbox
async def test_after_sigkill_the_changed_paths_are_known_and_come_back_by_name(
    recorded, workspace, tmp_path
):
    workspace.write("a.txt", "1\n")
    workspace.write("gone.txt", "gone\n")
    workspace.write("person.txt", "1\n")
    code = (
        "import os,time\nopen('a.txt','w').write('2')\nos.remove('gone.txt')\n"
        "open('begun','w').close()\ntime.sleep(60)\n"
    )
    words = [sys.executable, "-c", KILLED, str(workspace.root), str(tmp_path / "store.db"), code]
    died = await anyio.run_process(words, check=False)
    workspace.write("person.txt", "2\n")

    async with recorded() as rt:
        found = rt.recovered[0]
        undone = [await rt.undo(path=path) for path in ("a.txt", "gone.txt")]

    assert died.returncode == -signal.SIGKILL, died.stderr
    assert (found.call_id, found.status) == ("dies", "unknown")
    assert {"a.txt", "gone.txt", "begun"} <= set(found.paths)
    assert all(one.ok for one in undone), [one.text for one in undone]
    assert workspace.read("a.txt") == b"1\n"
    assert workspace.read("gone.txt") == b"gone\n"
    assert workspace.read("person.txt") == b"2\n"


MUTATE = """
import pathlib, random, shutil
dice = random.Random(SEED)
here = pathlib.Path('.')
def some(kind):
    found = sorted(path for path in here.rglob('*') if kind(path))
    return dice.choice(found) if found else here / 'none'
def name(what): return here / f'{what}{dice.randrange(99)}'
def make():
    path = name('x') / name('y')
    path.mkdir(parents=True)
    (path / 'z').write_text('z')
acts = [
    lambda: some(pathlib.Path.is_file).write_bytes(dice.randbytes(dice.randrange(3000))),
    lambda: some(pathlib.Path.is_file).unlink(),
    lambda: (some(pathlib.Path.is_dir) / name('n')).write_bytes(b'new'),
    lambda: shutil.rmtree(some(pathlib.Path.is_dir)),
    lambda: some(pathlib.Path.is_file).rename(name('m')),
    lambda: some(pathlib.Path.is_dir).rename(name('d')),
    lambda: some(pathlib.Path.is_file).chmod(dice.choice([0o600, 0o644, 0o755])),
    lambda: some(pathlib.Path.is_file).open('ab').write(b'tail'),
    make,
]
for _ in range(dice.randint(1, 25)):
    try: dice.choice(acts)()
    except OSError: pass
"""


async def _mutate_and_undo(rt, workspace, seed):
    dice = random.Random(seed)
    for path in list(workspace.root.iterdir()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for number in range(dice.randint(1, 30)):
        folders = "".join(f"d{dice.randrange(3)}/" for _ in range(dice.randrange(4)))
        workspace.write(f"{folders}f{number}", dice.randbytes(dice.randrange(2000)))
    before = snapshot(workspace.root)
    code = MUTATE.replace("SEED", str(seed))
    result = await rt.call("execute_code", {"language": "python", "code": code}, id=f"s{seed}")
    changed = bool(result.changes)
    undone = await rt.undo(f"s{seed}")
    after = snapshot(workspace.root)
    if result.meta["undo"] != "full":
        # Folders without files are all that may be left out here, and were named.
        named = set(result.meta["undo_left_out"])
        before, after = (
            {name: one for name, one in found.items() if one != "folder" or name not in named}
            for found in (before, after)
        )
    assert undone.ok or not changed, undone.text
    assert "unattributed" not in result.meta
    assert after == before, (seed, result.meta)


async def test_whatever_a_command_does_to_files_comes_back(recorded, workspace):
    async with recorded() as rt:
        for seed in range(6):
            await _mutate_and_undo(rt, workspace, seed)


@pytest.mark.torture
async def test_whatever_a_command_does_to_files_comes_back_at_length(recorded, workspace):
    async with recorded() as rt:
        for seed in range(1000, 1300):
            await _mutate_and_undo(rt, workspace, seed)
