"""The operations that backends of frameworks are made of, without any framework."""

import asyncio

import pytest

import handrail
from handrail.adapters.workspace import BoundWorkspace, WorkspaceProblem

RULES = {"permissions": {"deny": ["read_file(secret/**)", "write_file(frozen/**)"]}}


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "workspace"
    for name in ("secret/key.txt", "frozen/a.txt", "tree/sub/b.txt"):
        root.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        root.joinpath(name).write_text("s3cr3t\n")
    tmp_path.joinpath("outside.txt").write_text("outside\n")
    return root


@pytest.fixture
async def open_workspace(root):
    opened = []

    async def open_it(**settings):
        given = {"mode": "bypass", "allow_delete": True, **settings}
        opened.append(await handrail.open(root, config=RULES, store=":memory:", **given))
        return opened[-1], BoundWorkspace(opened[-1])

    yield open_it
    for rt in opened:
        await rt.aclose()


async def problem_code(work):
    with pytest.raises(WorkspaceProblem) as raised:
        await work
    return raised.value.problem.code


async def test_bytes_survive_and_every_change_is_undone(open_workspace, root):
    rt, workspace = await open_workspace()
    data = bytes(range(256)) + b"\r\n\xff"

    await workspace.write_bytes(f"{root}/new/deep/file.bin", data)
    assert await workspace.read_bytes(f"{root}/new/deep/file.bin") == data
    await workspace.make_directory(f"{root}/empty/folder")
    await workspace.remove(f"{root}/tree")
    assert not root.joinpath("tree").exists() and root.joinpath("empty/folder").is_dir()

    for _ in range(3):
        (await rt.undo()).unwrap()
    assert root.joinpath("tree/sub/b.txt").read_text() == "s3cr3t\n"
    assert sorted(one.name for one in root.iterdir()) == ["frozen", "secret", "tree"]


async def test_the_record_has_hashes_instead_of_contents(open_workspace, root):
    rt, workspace = await open_workspace()

    await workspace.write_bytes(f"{root}/a.bin", b"\0hidden words")
    await workspace.read_bytes(f"{root}/a.bin")

    calls = await rt.store.calls(session=rt.session.id, limit=10)
    assert {call.requested["tool"] for call in calls} == {"workspace_write", "workspace_read"}
    assert "hidden words" not in repr(calls)


@pytest.mark.parametrize(
    "name", ["../outside.txt", "/etc/passwd", "link/x", "tree/../../outside.txt"]
)
async def test_nothing_outside_is_reached(open_workspace, root, name):
    root.joinpath("link").symlink_to("/etc")
    _, workspace = await open_workspace()
    path = name if name.startswith("/") else f"{root}/{name}"

    for work in (
        workspace.read_bytes(path),
        workspace.write_bytes(path, b"x"),
        workspace.inspect(path),
        workspace.list_directory(path),
        workspace.make_directory(f"{path}/new"),
        workspace.remove(path),
    ):
        assert await problem_code(work) == "outside_workspace"
    assert root.parent.joinpath("outside.txt").read_text() == "outside\n"


async def test_a_denied_file_is_neither_read_nor_written_nor_removed(open_workspace, root):
    _, workspace = await open_workspace()

    assert await problem_code(workspace.read_bytes(f"{root}/secret/key.txt")) == "denied"
    assert await problem_code(workspace.write_bytes(f"{root}/frozen/a.txt", b"x")) == "denied"
    assert await problem_code(workspace.write_bytes(f"{root}/frozen/new.txt", b"x")) == "denied"
    assert await problem_code(workspace.make_directory(f"{root}/frozen/new")) == "denied"
    assert await problem_code(workspace.remove(f"{root}/frozen/a.txt")) == "denied"
    assert await problem_code(workspace.remove(f"{root}/frozen")) == "denied"
    assert root.joinpath("frozen/a.txt").read_text() == "s3cr3t\n"


async def test_a_link_does_not_lead_around_a_rule(open_workspace, root):
    root.joinpath("alias").symlink_to("secret")
    root.joinpath("ice").symlink_to("frozen")
    _, workspace = await open_workspace()

    assert await problem_code(workspace.read_bytes(f"{root}/alias/key.txt")) == "denied"
    assert await problem_code(workspace.write_bytes(f"{root}/ice/a.txt", b"x")) == "denied"
    await workspace.remove(f"{root}/alias")
    assert root.joinpath("secret/key.txt").exists()


@pytest.mark.needs_sandbox
async def test_a_command_does_not_show_a_denied_file(open_workspace, root):
    _, workspace = await open_workspace()

    for command in (
        "cat secret/key.txt",
        "cat sec*/k*",
        "grep -r s3cr3t .",
        "cp -r secret copy; cat copy/*",
    ):
        try:
            ended = await workspace.run_command(command)
        except WorkspaceProblem as raised:
            assert raised.problem.code == "denied"
        else:
            assert "s3cr3t" not in ended.stdout.replace("frozen/a.txt:s3cr3t", "").replace(
                "tree/sub/b.txt:s3cr3t", ""
            )


@pytest.mark.needs_sandbox
async def test_output_is_complete_and_exact(open_workspace):
    _, workspace = await open_workspace()

    ended = await workspace.run_command(
        "printf 'a\\r\\n[handrail: x]\\n\\n'; seq 300000 >&2; exit 3"
    )

    assert ended.stdout == "a\r\n[handrail: x]\n\n"
    assert ended.stderr == "".join(f"{one}\n" for one in range(1, 300001))
    assert (ended.exit_code, ended.complete) == (3, True)


@pytest.mark.needs_sandbox
async def test_a_cancelled_command_is_ended(open_workspace, root):
    rt, workspace = await open_workspace()
    started = asyncio.Event()
    rt.subscribe(lambda event: event.type == "tool_call_output" and started.set())

    task = asyncio.create_task(workspace.run_command("echo on; sleep 2; touch late"))
    await asyncio.wait_for(started.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 30)

    (call,) = await rt.store.calls(session=rt.session.id, limit=1)
    assert call.completed["status"] == "interrupted"
    assert not root.joinpath("late").exists()


async def test_nothing_is_reported_as_done_that_was_only_planned(open_workspace, root):
    _, workspace = await open_workspace(dry_run=True)

    assert await problem_code(workspace.write_bytes(f"{root}/a.txt", b"x")) == "denied"
    assert not root.joinpath("a.txt").exists()


async def test_removing_needs_the_users_permission_to_delete(open_workspace, root):
    _, workspace = await open_workspace(allow_delete=False)

    assert await problem_code(workspace.remove(f"{root}/tree")) == "denied"
    assert root.joinpath("tree").is_dir()


async def test_writes_at_once_leave_whole_files(open_workspace, root):
    _, workspace = await open_workspace()
    contents = [bytes([65 + number]) * 200_000 for number in range(8)]

    async with asyncio.TaskGroup() as group:
        for data in contents:
            group.create_task(workspace.write_bytes(f"{root}/same.bin", data))
            group.create_task(workspace.write_bytes(f"{root}/{data[:1].decode()}.bin", data))

    assert await workspace.read_bytes(f"{root}/same.bin") in contents
    assert all(root.joinpath(f"{data[:1].decode()}.bin").read_bytes() == data for data in contents)


async def test_no_model_is_shown_the_tools_of_backends(open_workspace):
    rt, _ = await open_workspace()

    names = [one["function"]["name"] for one in rt.declare("openai")]

    assert [name for name in names if name.startswith("workspace_")] == []


async def test_two_backends_share_the_tools(open_workspace, root):
    rt, workspace = await open_workspace()
    other = BoundWorkspace(rt)

    await workspace.write_bytes(f"{root}/a.txt", b"one")

    assert await other.read_bytes(f"{root}/a.txt") == b"one"
