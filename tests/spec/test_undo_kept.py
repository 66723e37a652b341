"""What a command deletes is kept, or asked about first: names of any bytes, hard links, files
over the limit, files that hold secrets.
"""

import json
import os

import pytest

import handrail
from handrail import Status

# Commands run without a question only where the sandbox holds them.
pytestmark = pytest.mark.needs_sandbox

LARGE = 9 << 20
STRANGE = (b"caf\xe9.txt", b"\xff\xfe.bin", b"d\xe9r/in\xe8.txt", b"line\nbreak\xe9")


class Asked:
    """A person who notes what they are asked, and answers always the same."""

    def __init__(self, answer):
        self.answer = answer
        self.reasons = []

    async def ask(self, request):
        self.reasons.append(request.reason)
        return self.answer


def opened(workspace, tmp_path, **settings):
    settings = {"store": tmp_path / "store.db", "mode": "sandboxed", **settings}
    return handrail.open(workspace.root, **settings)


def tree(workspace):
    top = os.fsencode(workspace.root)
    found = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, top)] = file.read()
    return found


def write(workspace, name, content):
    path = os.path.join(os.fsencode(workspace.root), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


@pytest.mark.finding("F21")
@pytest.mark.parametrize(
    "command",
    [
        "rm -r *",
        'for one in *; do rm -r "$one"; done',
        "python3 -c 'import os, shutil\n"
        'for n in os.listdir(b"."): (shutil.rmtree if os.path.isdir(n) else os.remove)(n)\'',
    ],
)
async def test_files_with_names_of_any_bytes_come_back(workspace, tmp_path, command):
    for name in (*STRANGE, b"plain.txt", "ü.txt".encode()):
        write(workspace, name, b"content of " + name)
    before = tree(workspace)
    async with opened(workspace, tmp_path) as rt:
        removed = await rt.call("run_command", {"command": command})
        gone = tree(workspace)
        undone = await rt.undo()
        back = tree(workspace)
        redone = await rt.redo()
        again = await rt.undo()

    assert removed.ok, removed.text
    assert removed.meta["undo"] == "full"
    assert gone == {}
    assert undone.ok, undone.text
    assert back == before
    assert redone.ok, redone.text
    assert again.ok, again.text
    assert tree(workspace) == before
    # Shown so that nothing moves the cursor, and told in JSON that everybody can read.
    assert r"'caf\udce9.txt'" in undone.text
    undone.text.encode("utf-8")
    json.dumps(undone.to_dict()).encode("ascii")


@pytest.mark.finding("F21")
async def test_one_file_of_such_a_name_can_be_named(workspace, tmp_path):
    write(workspace, STRANGE[0], b"one")
    write(workspace, STRANGE[1], b"two")
    async with opened(workspace, tmp_path) as rt:
        await rt.call("run_command", {"command": "rm *"})
        undone = await rt.undo(path=os.fsdecode(STRANGE[0]))
        shown = await rt.call("undo", {"scope": "path", "target": r"\udcff\udcfe.bin"})

    assert undone.ok, undone.text
    assert shown.ok, shown.text
    assert tree(workspace) == {STRANGE[0]: b"one", STRANGE[1]: b"two"}


@pytest.mark.finding("F21")
async def test_a_file_that_was_changed_under_such_a_name_comes_back(workspace, tmp_path):
    write(workspace, STRANGE[0], b"old")
    async with opened(workspace, tmp_path) as rt:
        changed = await rt.call("run_command", {"command": "for f in *; do echo new > $f; done"})
        new = tree(workspace)
        undone = await rt.undo()

    assert changed.ok, changed.text
    assert new == {STRANGE[0]: b"new\n"}
    assert undone.ok, undone.text
    assert tree(workspace) == {STRANGE[0]: b"old"}


@pytest.mark.finding("F21")
@pytest.mark.finding("F29")
@pytest.mark.parametrize(
    ("command", "named", "why"),
    [
        ("rm *", "large.bin", "8 MB, the most that is kept (setting shadow_file_mb)"),
        ("rm -f ./large.bin", "large.bin", "shadow_file_mb"),
        ("true && /bin/rm l*.bin", "large.bin", "shadow_file_mb"),
        ("unlink large.bin", "large.bin", "shadow_file_mb"),
        ("bash -c 'rm large.bin'", "large.bin", "shadow_file_mb"),
        ("find . -name '*.bin' -delete", "large.bin", "shadow_file_mb"),
        ("find . -iname '*.BIN' | xargs rm -f", "large.bin", "shadow_file_mb"),
        ("find . -type f -exec rm {} +", "large.bin", "shadow_file_mb"),
        ("rm .env", ".env", "secrets"),
        ("cd sub && rm .env", "sub/.env", "secrets"),
        ("rm -rf sub", "sub/.env", "secrets"),
        ("rm -rf repository", "repository/.git", "history"),
    ],
)
async def test_a_deletion_that_cannot_be_kept_is_asked_first(
    workspace, tmp_path, command, named, why
):
    workspace.write("large.bin", b"x" * LARGE)
    workspace.write(".env", "KEY=1\n")
    workspace.write("sub/.env", "KEY=2\n")
    workspace.write("repository/.git/HEAD", "ref: refs/heads/main\n")
    before = workspace.tree()
    nobody, person = opened(workspace, tmp_path), Asked(False)
    async with nobody as rt:
        refused = await rt.call("run_command", {"command": command})
    async with opened(workspace, tmp_path, approver=person) as rt:
        denied = await rt.call("run_command", {"command": command})

    assert (refused.status, refused.problem.code) == (Status.REFUSED, "needs_approval")
    assert named in refused.text
    assert why in refused.text
    assert denied.status is Status.REFUSED
    (reason,) = person.reasons
    assert named in reason
    assert why in reason
    assert workspace.tree() == before


@pytest.mark.finding("F29")
@pytest.mark.parametrize(
    "command",
    [
        "rm small.txt",
        "rm -rf kept",
        "find . -name '*.txt' -delete",
        "find . -type d -empty -delete",
        "rm *.txt",
        "rm nothing-here",
    ],
)
async def test_a_deletion_that_is_kept_is_not_asked(workspace, tmp_path, command):
    workspace.write("large.bin", b"x" * LARGE)
    workspace.write(".env", "KEY=1\n")
    workspace.write("small.txt", "small\n")
    workspace.write("kept/a/b.py", "x = 1\n")
    before, person = workspace.tree(), Asked(False)
    async with opened(workspace, tmp_path, approver=person) as rt:
        ran = await rt.call("run_command", {"command": command})
        if ran.changes:
            assert (await rt.undo()).ok

    assert ran.status is not Status.REFUSED, ran.text
    assert person.reasons == []
    assert workspace.tree() == before


@pytest.mark.finding("F29")
async def test_the_limit_is_a_setting(workspace, tmp_path):
    workspace.write("large.bin", b"x" * LARGE)
    before = workspace.tree()
    async with opened(workspace, tmp_path, config={"shadow_file_mb": 16}) as rt:
        removed = await rt.call("run_command", {"command": "rm large.bin"})
        undone = await rt.undo()

    assert removed.ok, removed.text
    assert undone.ok, undone.text
    assert workspace.tree() == before


@pytest.mark.finding("F21")
async def test_more_than_all_copies_may_take_is_asked_first(workspace, tmp_path):
    for number in range(4):
        workspace.write(f"data/{number}", b"x" * (400 << 10))
    async with opened(workspace, tmp_path, config={"shadow_mb": 1}) as rt:
        refused = await rt.call("run_command", {"command": "rm -rf data"})

    assert refused.problem.code == "needs_approval"
    assert "shadow_mb" in refused.text


@pytest.mark.finding("F29")
async def test_what_was_approved_and_is_lost_is_reported_with_its_own_reason(workspace, tmp_path):
    workspace.write("large.bin", b"x" * LARGE)
    workspace.write(".env", "KEY=1\n")
    workspace.write("small.txt", "small\n")
    person = Asked(True)
    async with opened(workspace, tmp_path, approver=person) as rt:
        removed = await rt.call("run_command", {"command": "rm large.bin .env small.txt"})
        undone = await rt.undo()

    assert removed.ok, removed.text
    lines = [line for line in removed.text.splitlines() if "undo cannot restore" in line]
    assert len(lines) == 2
    (large,) = [line for line in lines if "large.bin" in line]
    (secret,) = [line for line in lines if ".env" in line]
    assert "shadow_file_mb" in large
    assert "secrets" not in large
    assert "secrets" in secret
    assert undone.ok, undone.text
    assert set(workspace.tree()) == {"small.txt"}


@pytest.mark.finding("F29")
async def test_a_tool_that_deletes_a_file_with_secrets_asks_first(workspace, tmp_path):
    workspace.write(".env", "KEY=1\n")
    person = Asked(False)
    settings = {"mode": "accept-edits", "allow_delete": True, "approver": person}
    async with opened(workspace, tmp_path, **settings) as rt:
        refused = await rt.call("delete_file", {"path": ".env"})

    assert refused.status is Status.REFUSED
    assert ".env" in person.reasons[0]
    assert "secrets" in person.reasons[0]
    assert set(workspace.tree()) == {".env"}


def inodes(workspace, *names):
    return {(workspace.root / name).stat().st_ino for name in names}


@pytest.mark.finding("F22")
@pytest.mark.parametrize(
    "command",
    [
        "rm one two",
        "rm one",
        "rm one sub/three",
        "rm -r one two sub",
        "rm -rf *",
        'python3 -c \'import os; os.remove("one"); os.remove("two")\'',
        "mv one moved",
    ],
)
async def test_names_of_one_file_are_names_of_one_file_again(workspace, tmp_path, command):
    workspace.write("one", "shared\n")
    workspace.write("sub/other", "shared\n")
    os.link(workspace.root / "one", workspace.root / "two")
    os.link(workspace.root / "one", workspace.root / "sub/three")
    before = workspace.tree()
    async with opened(workspace, tmp_path) as rt:
        removed = await rt.call("run_command", {"command": command})
        undone = await rt.undo()
        linked = inodes(workspace, "one", "two", "sub/three")
        redone = await rt.redo()
        again = await rt.undo()

    assert removed.ok, removed.text
    assert undone.ok, undone.text
    assert len(linked) == 1
    assert redone.ok, redone.text
    assert again.ok, again.text
    assert workspace.tree() == before
    assert len(inodes(workspace, "one", "two", "sub/three")) == 1
    # The same content is not the same file.
    assert inodes(workspace, "sub/other") != inodes(workspace, "one")
    assert "hard link" not in undone.text


@pytest.mark.finding("F22")
async def test_a_name_that_cannot_be_linked_again_is_reported(workspace, tmp_path):
    workspace.write("one", "shared\n")
    os.link(workspace.root / "one", tmp_path / "outside")
    async with opened(workspace, tmp_path) as rt:
        await rt.call("run_command", {"command": "rm one"})
        undone = await rt.undo()

    assert undone.ok, undone.text
    assert "other names (hard links)" in undone.text
    assert workspace.read("one") == b"shared\n"


@pytest.mark.finding("F22")
async def test_a_name_whose_file_was_changed_since_is_not_linked_to(workspace, tmp_path):
    workspace.write("one", "shared\n")
    os.link(workspace.root / "one", workspace.root / "two")
    async with opened(workspace, tmp_path) as rt:
        await rt.call("run_command", {"command": "rm one"})
        (workspace.root / "two").write_text("changed\n")
        undone = await rt.undo()

    assert undone.ok, undone.text
    assert workspace.tree() == {"one": b"shared\n", "two": b"changed\n"}
    assert len(inodes(workspace, "one", "two")) == 2


@pytest.mark.finding("F22")
async def test_a_name_that_a_tool_deleted_is_reported(workspace, tmp_path):
    workspace.write("one", "shared\n")
    os.link(workspace.root / "one", workspace.root / "two")
    async with opened(workspace, tmp_path, mode="accept-edits", allow_delete=True) as rt:
        await rt.call("delete_file", {"path": "one"})
        undone = await rt.undo()

    assert undone.ok, undone.text
    assert "other names (hard links)" in undone.text


@pytest.mark.finding("F29")
@pytest.mark.parametrize("style", ["own", "claude"])
async def test_a_guard_that_fails_and_allows_is_on_record(workspace, tmp_path, style):
    own = {"name": "guard", "command": "exit 7", "on_failure": "allow"}
    config = {"hooks": {"pre_tool_use": [own]}}
    if style == "claude":
        entry = {"type": "command", "command": "exit 7", "on_failure": "allow"}
        config = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [entry]}]}}
    async with opened(workspace, tmp_path, mode="accept-edits", config=config) as rt:
        written = await rt.call("write_file", {"path": "a", "content": "x"}, id="w")
        (record,) = await rt.store.calls(call_id="w")

    assert written.ok, written.text
    (failure,) = record.completed["hook_failures"]
    assert failure["event"] == "pre_tool_use"
    assert "7" in failure["reason"]
