"""Taking back what commands did to links, folders and permissions: exactly, or said to be partial.

Every case holds the same promise: what `meta["undo"]` says is what undo then does, nothing else
is touched, and redo brings all of it again.
"""

import os
import re
import stat
import subprocess
import threading
from pathlib import Path

import anyio
import pytest
from tests.support.waiting import join_threads, wait_until

from handrail.cli.main import main
from handrail.core.events import CallProgress
from handrail.core.ports.snapshots import SnapshotLimits


def snapshot(root: Path) -> dict[str, object]:
    """Everything below a folder: kinds, permissions, contents and where links lead."""
    found: dict[str, object] = {}
    top = os.fsencode(root)
    for above, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(above, name)
            info = os.lstat(path)
            shown = os.fsdecode(os.path.relpath(path, top))
            mode = stat.S_IMODE(info.st_mode)
            if stat.S_ISLNK(info.st_mode):
                found[shown] = ("link", os.readlink(path))
            elif stat.S_ISREG(info.st_mode):
                found[shown] = ("file", mode, Path(os.fsdecode(path)).read_bytes())
            else:
                found[shown] = (stat.S_IFMT(info.st_mode), mode)
    return {name: one for name, one in found.items() if "/.git/" not in f"/{name}/"}


@pytest.fixture
def furnished(workspace):
    """One of everything that a command may meet."""
    for path, content, mode in (
        ("a.txt", "one\n", 0o644),
        ("tree/a.txt", "A\n", 0o644),
        ("tree/deep/b.txt", b"\xff\x00", 0o600),
        ("tree/deep/run.sh", "#!\n", 0o755),
        ("closed/x.txt", "x", 0o444),
        ("private/x", "x", 0o640),
        ("large.bin", b"x" * (2 << 20), 0o644),
        ("beside.txt", "beside", 0o644),
    ):
        workspace.write(path, content).chmod(mode)
    root = workspace.root
    for folder in ("tree/hollow", "void"):
        (root / folder).mkdir(mode=0o750)
    (root / "closed").chmod(0o555)
    (root / "private").chmod(0o700)
    for name, target in (("link", "a.txt"), ("out", "/etc/passwd"), ("tree/up", "../void")):
        os.symlink(target, root / name)
    yield workspace
    for above, folders, _ in os.walk(os.fsencode(root)):
        for folder in folders:
            path = os.path.join(above, folder)
            if not os.path.islink(path):
                os.chmod(path, 0o755)


@pytest.fixture
def recorded(open_runtime, tmp_path):
    def opened(**settings):
        config = {"shadow_file_mb": 1, **settings.pop("config", {})}
        return open_runtime(
            store=tmp_path / "store.db",
            mode="sandboxed",
            approver=lambda request: True,
            config=config,
            **settings,
        )

    return opened


def shell(command: str):
    return "run_command", {"command": command}


def python(code: str):
    return "execute_code", {"language": "python", "code": f"import os, shutil\n{code}"}


EXACT = {
    "a link is made": shell("ln -s a.txt new"),
    "a link leads elsewhere": shell("ln -sfn beside.txt link"),
    "a link is removed": shell("rm link"),
    "a link that leads outside": python("os.remove('out'); os.symlink('/etc/hosts', 'out')"),
    "a link is moved": shell("mv link tree/link"),
    "a link in place of a file": shell("ln -sf beside.txt a.txt"),
    "a file in place of a link": shell("sed -i s/one/two/ link"),
    "a file behind a link": shell("echo more >> link"),
    "an empty folder is made": shell("mkdir -p new/deep/er"),
    "an empty folder is removed": shell("rmdir void"),
    "an empty folder is moved": python("os.rename('void', 'tree/void')"),
    "a folder is made for its owner": python(
        "os.makedirs('n/m', mode=0o700); os.chmod('n', 0o711)"
    ),
    "a file gets executable": shell("chmod +x a.txt"),
    "a folder gets other permissions": shell("chmod 700 tree"),
    "all permissions below": shell("chmod -R go-rwx tree"),
    "a folder and a file in it": python("os.chmod('tree', 0o2775); open('tree/a.txt', 'w')"),
    "a folder for its owner goes": shell("rm -rf private"),
    "a tree goes": shell("rm -rf tree"),
    "a tree moves": shell("mv tree other"),
    "a tree moves into a folder": shell("mv tree void/"),
    "a tree is copied": shell("cp -a tree copy"),
    "trees change places": python(
        "os.rename('tree', 't'); os.rename('private', 'tree'); os.rename('t', 'private')"
    ),
    "only the case of a name": python("os.rename('a.txt', 'A.TXT'); os.rename('tree', 'Tree')"),
    "line breaks in names": python("os.rename('a.txt', 'b\\nc'); os.symlink('x\\ny', 'l\\nm')"),
    "a read-only file": shell("sed -i s/^/y/ tree/a.txt; chmod 400 tree/a.txt"),
    "a read-only folder": python(
        "os.chmod('closed', 0o755); os.remove('closed/x.txt'); os.chmod('closed', 0o555)"
    ),
    "a read-only folder goes": python("os.chmod('closed', 0o755); shutil.rmtree('closed')"),
    "a folder is closed": python("os.mkdir('n'); open('n/f', 'w'); os.chmod('n', 0)"),
    "an ignored folder": shell("echo build > .gitignore; mkdir build; ln -s x build/l"),
    "a link to bytes that are no text": python("os.symlink(b'\\xff', 'odd')"),
    "two names of one new file": python("open('h', 'w').write('x'); os.link('h', 'h2')"),
    "a large file that is new": python("open('n', 'wb').write(b'y' * (3 << 20))"),
}


@pytest.mark.needs_sandbox
@pytest.mark.parametrize("name", EXACT)
async def test_it_comes_back_exactly_and_is_brought_again(recorded, furnished, name):
    tool, arguments = EXACT[name]
    before = snapshot(furnished.root)
    async with recorded() as rt:
        result = await rt.call(tool, arguments, id="run")
        after = snapshot(furnished.root)
        undone = await rt.undo("run")
        restored = snapshot(furnished.root)
        redone = await rt.redo("run")

    assert result.ok, result.text
    assert after != before
    assert result.meta["undo"] == "full", result.meta
    assert undone.ok, undone.text
    assert restored == before
    assert redone.ok, redone.text
    assert snapshot(furnished.root) == after


IN_PART = {
    "a pipe": (python("os.mkfifo('pipe'); open('f', 'w')"), {"pipe"}),
    "a pipe in a new folder": (
        python("os.makedirs('q/r'); os.mkfifo('q/r/pipe'); open('q/f', 'w')"),
        {"q", "q/r", "q/r/pipe"},
    ),
    "a folder in place of a file": (
        python("os.remove('a.txt'); os.mkdir('a.txt'); open('a.txt/in', 'w')"),
        {"a.txt"},
    ),
    "a file in place of a folder": (
        python("shutil.rmtree('tree'); open('tree', 'w'); open('f', 'w')"),
        {"tree", "tree/a.txt", "tree/deep", "tree/deep/b.txt", "tree/deep/run.sh"}
        | {"tree/hollow", "tree/up"},
    ),
    "a large file": (python("open('large.bin', 'ab').write(b'y'); open('f', 'w')"), {"large.bin"}),
    "a large file is moved": (
        python("os.rename('large.bin', 'tree/large'); open('f', 'w')"), {"large.bin", "tree/large"}
    ),
    "a long link": (
        python("os.symlink('y' * 600, 'long'); open('f', 'w')"), {"long"}
    ),
}  # fmt: skip


@pytest.mark.needs_sandbox
@pytest.mark.parametrize("name", IN_PART)
async def test_what_does_not_come_back_is_named_and_nothing_else(recorded, furnished, name):
    (tool, arguments), named = IN_PART[name]
    before = snapshot(furnished.root)
    async with recorded() as rt:
        result = await rt.call(tool, arguments, id="run")
        after = snapshot(furnished.root)
        undone = await rt.undo("run")
        restored = snapshot(furnished.root)
        redone = await rt.redo("run")

    different = {one for one in before.keys() | restored if before.get(one) != restored.get(one)}
    assert result.ok, result.text
    assert result.meta["undo"] == "partial"
    assert set(result.meta["undo_left_out"]) == named
    assert undone.ok, undone.text
    assert different == named
    assert redone.ok, redone.text
    assert snapshot(furnished.root) == after


async def test_a_tree_that_lives_on_behind_a_link_is_not_removed(recorded, furnished):
    """Its old place cannot be given back, so its new one is all there is."""
    code = "os.rename('tree', 'moved'); os.symlink('moved', 'tree')"
    async with recorded() as rt:
        result = await rt.call(*python(code), id="run")
        after = snapshot(furnished.root)
        undone = await rt.undo("run")

    assert result.meta["undo"] == "partial"
    assert {"tree", "moved", "moved/a.txt"} <= set(result.meta["undo_left_out"])
    assert (furnished.root / "moved/deep/b.txt").read_bytes() == b"\xff\x00"
    left = snapshot(furnished.root)
    assert undone.problem is None or left == after
    assert {path: one for path, one in left.items() if one[0] == "file"} == {
        path: one for path, one in after.items() if one[0] == "file"
    }


@pytest.mark.needs_sandbox
@pytest.mark.parametrize(
    "command", ["mv tree other", "cp -r tree copy", "mv tree void/", "mkdir -p n/m/o"]
)
async def test_a_tree_comes_back_with_a_second_runtime_open(recorded, furnished, command):
    before = snapshot(furnished.root)
    async with recorded() as rt, recorded():
        result = await rt.call(*shell(command), id="run")
        after = snapshot(furnished.root)
        undone = await rt.undo("run")
        restored = snapshot(furnished.root)
        redone = await rt.redo("run")

    assert (result.meta["undo"], result.meta.get("unattributed")) == ("full", None)
    assert undone.ok, undone.text
    assert restored == before
    assert redone.ok, redone.text
    assert snapshot(furnished.root) == after


async def test_links_and_folders_of_a_person_in_the_same_moment_stay(recorded, furnished):
    root = furnished.root
    code = (
        "import time\nos.symlink('a.txt', 'ours'); os.mkdir('made'); open('go', 'w')\n"
        "while not os.path.exists('saved'): time.sleep(.01)"
    )

    def person():
        wait_until((root / "go").exists)
        (root / "link").unlink()
        (root / "link").symlink_to("beside.txt")
        (root / "theirs").mkdir()
        (root / "made" / "theirs.txt").write_text("!")
        (root / "saved").write_text("")

    thread = threading.Thread(target=person)
    thread.start()
    async with recorded() as rt:
        result = await rt.call(*python(code), id="both")
        join_threads(thread)
        undone = await rt.undo("both")
        kept = snapshot(root)
        named = await rt.undo(path="link")

    assert result.ok, result.text
    theirs = {"link", "made/theirs.txt", "saved", "theirs"}
    assert set(result.meta["unattributed"]) == theirs
    assert undone.ok, undone.text
    assert not (root / "ours").is_symlink()
    assert kept["link"] == ("link", b"beside.txt")
    assert kept["made/theirs.txt"][2] == b"!"
    assert "theirs" in kept
    assert named.ok, named.text
    assert os.readlink(root / "link") == "a.txt"


async def test_a_link_that_somebody_changed_since_is_a_conflict(recorded, furnished):
    link = furnished.root / "link"
    async with recorded() as rt:
        await rt.call(*shell("ln -sfn beside.txt link && echo x > b.txt"), id="run")
        link.unlink()
        link.symlink_to("void")
        refused = await rt.undo("run")
        forced = await rt.undo("run", force=True)
        was = os.readlink(link)
        redone = await rt.redo()

    assert refused.problem.code == "conflict"
    assert "link" in refused.problem.message
    assert forced.ok, forced.text
    assert was == "a.txt"
    assert redone.ok, redone.text
    assert os.readlink(link) == "void"


async def test_a_folder_with_something_new_in_it_stays(recorded, furnished):
    async with recorded() as rt:
        await rt.call(*shell("mkdir -p new/deep"), id="run")
        furnished.write("new/mine.txt", "mine")
        undone = await rt.undo("run")
        tree = furnished.tree()
        redone = await rt.redo("run")

    assert undone.ok, undone.text
    assert "removed new/ (unless something else" in undone.text
    assert tree["new/mine.txt"] == b"mine"
    assert redone.ok, redone.text
    assert (furnished.root / "new/deep").is_dir()


async def test_a_folder_that_closed_on_its_file_is_no_door_to_elsewhere(recorded, furnished):
    """The folder of a file became a link out of the workspace: nothing is written through it."""
    outside = furnished.root.parent / "outside"
    outside.mkdir()
    async with recorded() as rt:
        await rt.call(*shell("rm tree/deep/b.txt"), id="run")
        (furnished.root / "tree/deep").rename(outside / "deep")
        (furnished.root / "tree/deep").symlink_to(outside / "deep")
        undone = await rt.undo("run", force=True)

    assert not undone.ok
    assert not (outside / "deep/b.txt").exists()


@pytest.mark.needs_sandbox
def test_from_the_command_line(furnished, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(furnished.root)
    before = snapshot(furnished.root)
    common = ["--store", str(tmp_path / "cli.db"), "--mode", "bypass"]
    command = "rm -r tree/hollow && ln -sfn beside.txt link && chmod 700 tree && mkdir new"
    assert main([*common, "call", "run_command", f"command={command}"]) == 0
    changed = snapshot(furnished.root)
    capsys.readouterr()
    assert main([*common, "undo"]) == 0
    said = capsys.readouterr().out
    restored = snapshot(furnished.root)
    assert main([*common, "redo"]) == 0

    assert restored == before
    assert snapshot(furnished.root) == changed != before
    assert "3 folders: " in said
    assert "link to beside.txt becomes" in said
    assert "new/: a folder is removed" in said


@pytest.mark.finding("F72")
async def test_the_copies_before_a_first_command_report_progress(recorded, workspace, monkeypatch):
    monkeypatch.setattr("handrail.engine.executors.command_effects._PROGRESS_S", 0.0)
    for number in range(600):
        workspace.write(f"many/f{number}", f"content {number}\n")
    before = snapshot(workspace.root)
    events = []
    async with recorded() as rt:
        for name in ("first", "second"):
            code = python("shutil.rmtree('many'); os.mkdir('new')")
            assert (await rt.call(*code, id=name, on_event=events.append)).ok
            undone = await rt.undo(name)
            assert undone.ok, undone.text
            assert snapshot(workspace.root) == before

    texts = [one.text for one in events if isinstance(one, CallProgress)]
    counts = [int(re.search("[0-9][0-9,]*", text)[0].replace(",", "")) for text in texts]
    # What was put back is read once more; never all of it without a word.
    assert counts[:2] == [256, 512]


@pytest.mark.finding("F72")
def test_the_number_of_files_is_limited_by_bytes():
    assert SnapshotLimits().entries >= 1_000_000
    assert SnapshotLimits(total_bytes=4 << 30).entries == 2 * SnapshotLimits().entries
    assert SnapshotLimits(total_bytes=1).entries == 100_000
    assert SnapshotLimits(files=60).entries == 60


async def test_more_files_than_are_looked_at_are_said(recorded, furnished):
    code = "os.mkdir('many')\nfor n in range(400): open(f'many/{n}', 'w').write('x')"
    async with recorded(config={"shadow_files": 60}) as rt:
        result = await rt.call(*python(code), id="run")
        undone = await rt.undo("run")

    left = snapshot(furnished.root)
    assert result.meta["undo"] == "partial"
    assert "many/" in result.meta["undo_left_out"]
    assert undone.ok, undone.text
    assert all(path == "many" or path.startswith("many/") for path in left if "many" in path)
    assert left["a.txt"][2] == b"one\n"


@pytest.mark.needs_sandbox
async def test_a_repository_below_is_left_to_git_and_its_files_come_back(recorded, furnished):
    inner = furnished.root / "inner"
    inner.mkdir()
    (inner / "f.txt").write_text("1\n")
    for words in ("init -q", "config user.name a", "config user.email a@b", "add ."):
        subprocess.run(["git", *words.split()], cwd=inner, check=True)
    before = snapshot(furnished.root)
    async with recorded() as rt:
        with anyio.fail_after(60):
            result = await rt.call(
                *python("open('inner/f.txt', 'w').write('2'); os.symlink('f.txt', 'inner/l')"),
                id="run",
            )
            undone = await rt.undo("run")

    assert result.meta["undo"] == "full", result.meta
    assert undone.ok, undone.text
    assert snapshot(furnished.root) == before
