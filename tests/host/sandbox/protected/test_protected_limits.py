"""Large files, many files, other file systems, other users: what is promised then."""

import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

import pytest
from tests.support.protected_workspace import (
    TABLE,
    build,
    put,
    repaired,
    run,
    tree,
    whats,
)
from tests.support.trees import remove_tree
from tests.support.waiting import wait_until

from handrail.host.files.root_identity import RootHandle
from handrail.host.sandbox.protected import baseline, quarantine, scan
from handrail.host.sandbox.protected.guard import ProtectedState

TOOL = "pkg/.venv/bin/tool"


@pytest.fixture
def elsewhere():
    """A directory on another file system than the one of temporary files."""
    directory = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield directory
    shutil.rmtree(directory)


def test_a_large_file_is_put_back_from_a_private_copy(work, state, top, tmp_path):
    (work / TOOL).write_bytes(os.urandom(3 << 20))
    before = tree(work)

    done = repaired(state, top, f"printf x | dd of={TOOL} conv=notrunc bs=1 seek=99 2>/dev/null")

    assert whats(done) == {TOOL: "changed"}
    assert tree(work) == before
    assert [
        stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "state/copies").glob("*/*")
    ] == [0o600]


def test_a_damaged_copy_is_not_put_back_and_the_changed_file_is_taken_away(
    work, state, top, tmp_path
):
    (work / TOOL).write_bytes(bytes(3 << 20))
    damage = f"for one in {tmp_path}/state/copies/*/*; do echo x >> $one; done; echo evil > {TOOL}"

    done = repaired(state, top, damage)

    assert (done[TOOL].what, done[TOOL].restored) == ("changed", False)
    assert not (work / TOOL).exists()
    assert "evil\n" in [
        one.read_text() for one in (tmp_path / "state" / "quarantine").rglob("*tool")
    ]


def test_what_is_too_much_to_keep_is_known_by_its_stat(work, state, top, monkeypatch):
    monkeypatch.setattr(baseline, "_IN_MEMORY", 0)
    monkeypatch.setattr(baseline, "_COPIED", 0)

    snapshot = state.take([top])
    run(work, "echo evil > .envrc")
    done = state.repair(snapshot)

    assert str(work / ".envrc") in snapshot.partial
    assert [(path, what, restored) for path, what, _, restored in done] == [
        (str(work / ".envrc"), "changed", False)
    ]
    assert not (work / ".envrc").exists()


def test_copies_of_long_ago_make_room(work, state, top, tmp_path, monkeypatch):
    monkeypatch.setattr(baseline, "_QUOTA", 5 << 20)
    for number in range(3):
        (work / TOOL).write_bytes(bytes([number]) * (2 << 20))
        state.take([top]).close()

    copies = (tmp_path / "state" / "copies").rglob("*")
    assert len([path for path in copies if path.is_file()]) == 2


def test_between_file_systems_the_commands_version_is_copied(work, top, elsewhere):
    assert elsewhere.stat().st_dev != work.stat().st_dev
    before = tree(work)
    command = (
        "mkdir -p .idea/a/b; echo x > .idea/a/b/c; ln -s c .idea/a/b/d; mkfifo .idea/f; rm .envrc"
    )

    done = repaired(ProtectedState(TABLE, elsewhere / "state"), top, command)

    kept = Path(done[".idea"].kept)
    assert kept.is_relative_to(elsewhere)
    assert tree(kept) == {
        "a": ("drwx------", b""),
        "a/b": ("drwx------", b""),
        "a/b/c": ("-rw-r--r--", b"x\n"),
        "a/b/d": ("lrwxrwxrwx", "c"),
    }
    assert tree(work) == before


def test_what_is_too_large_to_copy_stays_under_a_name_that_means_nothing(
    work, top, elsewhere, monkeypatch
):
    monkeypatch.setattr(quarantine, "_MOST_BYTES", 1 << 20)
    state = ProtectedState(TABLE, elsewhere / "state")

    done = repaired(state, top, "mkdir .idea; truncate -s 1T .idea/huge")

    kept = Path(done[".idea"].kept)
    assert (kept.parent, kept.name[:12]) == (work, "quarantined-")
    assert (kept / "huge").exists()
    assert not (work / ".idea").exists()
    assert list((elsewhere / "state" / "quarantine").rglob("*huge")) == []


def test_directories_beyond_the_limit_are_named_and_accused_of_nothing(
    work, state, top, monkeypatch
):
    monkeypatch.setattr(scan, "_MOST_DIRECTORIES", 4)
    (work / "wide" / "a" / "b").mkdir(parents=True)

    snapshot = state.take([top])
    run(work, "rm -r src; touch wide/a/b/.envrc deep/a/b/new.pth .mcp.json")
    done = state.repair(snapshot)

    assert any(path.startswith(str(work / "deep")) for path in snapshot.partial)
    assert [path for path, *_ in done] == [str(work / ".mcp.json")]


def test_a_directory_with_too_many_entries_is_named_and_accused_of_nothing(
    work, state, top, monkeypatch
):
    for number in range(40):
        put(work / ".idea" / f"{number:02}" / "x", "x")
    monkeypatch.setattr(scan, "_MOST_ENTRIES", 30)

    snapshot = state.take([top])
    run(work, "rm -r .idea/0*; touch .envrc2")
    done = state.repair(snapshot)

    assert snapshot.partial
    assert {what for _, what, *_ in done} <= {"removed"}


def test_a_directory_with_too_many_entries_leaves_the_others_guarded(work, state, top, monkeypatch):
    for number in range(40):
        put(work / ".idea" / f"{number:02}" / "x", "x")
        put(work / "sub" / f"{number:02}" / ".vscode" / "settings.json", "{}")
    monkeypatch.setattr(scan, "_MOST_ENTRIES", 30)

    done = repaired(state, top, "for one in sub/??; do echo x > $one/.vscode/tasks.json; done")

    assert whats(done) == {f"sub/{number:02}/.vscode/tasks.json": "created" for number in range(40)}


def test_a_command_that_makes_more_directories_than_are_checked_is_told(
    work, state, top, monkeypatch
):
    monkeypatch.setattr(scan, "_MOST_DIRECTORIES", 60)

    done = repaired(state, top, "for a in 1 2 3 4 5 6 7 8; do mkdir -p b/$a/c/d/e/f/g/h; done")

    assert {one.what for one in done.values()} == {"unchecked"}
    assert not any(one.restored for one in done.values())
    assert all(path.startswith("b/") for path in done)


def test_directories_of_node_modules_are_walked_last(work, state, top, monkeypatch):
    for number in range(40):
        put(work / "node_modules" / "a" / f"{number:02}" / "index.js", "")
    put(work / "src" / "a" / "b" / "c" / "main.py", "")
    monkeypatch.setattr(scan, "_MOST_DIRECTORIES", 30)

    done = repaired(state, top, "echo x > src/a/b/c/.envrc")

    assert whats(done) == {"src/a/b/c/.envrc": "created"}


def test_a_listing_is_believed_only_until_its_directory_changes(work, state, top):
    wait_until_old(work / "src")
    state.take([top]).close()

    for number in range(3):
        done = repaired(state, top, f"touch src/{number}.pth")

        assert list(done) == [f"src/{number}.pth"]
        wait_until_old(work / "src")


def wait_until_old(path: Path) -> None:
    """Until a change would leave another time stamp than the last one did."""
    wait_until(lambda: path.stat().st_ctime_ns <= time.time_ns() - 25_000_000)


def test_an_ordinary_user_gets_the_same_repairs():
    room = Path(tempfile.mkdtemp())
    room.chmod(0o755)
    try:
        answers = as_ordinary_user(room, closed_doors)
    finally:
        remove_tree(room)

    assert answers == [
        ".claude created True",
        ".git/hooks/pre-commit.sample changed True",
        ".vscode changed True",
        ".vscode/a changed True",
        ".vscode/a/b changed True",
        ".vscode/a/b/c changed True",
        ".vscode/settings.json changed True",
        "sub/.envrc created True",
        "all as before: True",
    ]


def closed_doors(room: Path) -> list[str]:
    """Directories that their owner closed, run as that owner."""
    work = build(room / "work")
    put(work / ".vscode" / "a" / "b" / "c", "{}")
    before = tree(work)
    top = RootHandle(str(work), os.open(work, os.O_PATH))
    command = (
        "touch sub/.envrc; chmod 500 sub; find .vscode -depth -exec chmod 000 {} +; mkdir -p .claude/x; "
        "chmod 500 .claude/x .claude; chmod 000 .git/hooks/pre-commit.sample"
    )
    done = repaired(ProtectedState(TABLE, room / "state"), top, command)
    (work / "sub").chmod(0o755)
    told = sorted(f"{path} {one.what} {one.restored}" for path, one in done.items())
    return [*told, f"all as before: {tree(work) == before}"]


def as_ordinary_user(room: Path, scene) -> list[str]:
    if os.geteuid() != 0:
        return scene(room)
    os.chown(room, 12345, 12345)
    answer, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(12345)
            os.setuid(12345)
            os.write(told, "\n".join(scene(room)).encode())
        except BaseException as error:  # noqa: BLE001 - the parent must hear of anything
            os.write(told, repr(error).encode())
        finally:
            os._exit(0)
    os.close(told)
    with os.fdopen(answer) as lines:
        text = lines.read()
    os.waitpid(child, 0)
    return text.split("\n")
