"""The toolset and the workspace for pydantic-ai, without the framework."""

import os
from types import SimpleNamespace

import pytest
from tests.support.framework_doubles import load_adapter

import handrail
from handrail.adapters.workspace import WorkspaceCommandOutput, WorkspaceProblem
from handrail.core.results import Image, Status, ToolResult

MODULES = ("exceptions", "tools", "toolsets", "workspaces")


@pytest.fixture
def adapter(monkeypatch):
    names = ["pydantic_ai", *(f"pydantic_ai.{one}" for one in MODULES)]
    return load_adapter(monkeypatch, "pydantic_ai", *names)


@pytest.fixture
async def rt(tmp_path):
    root = tmp_path / "w"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "sub").mkdir()
    (root / "sub" / "b.txt").write_text("two\n")
    (root / "link").symlink_to("sub")
    async with handrail.open(
        root, store=":memory:", mode="accept-edits", allow_delete=True
    ) as opened:
        yield opened


@pytest.fixture
async def backend(adapter, rt):
    return adapter.HandrailWorkspace(rt)


@pytest.fixture
def root(rt):
    return rt.session.roots[0]


async def test_the_directory_is_the_environment(backend, root, adapter):
    assert (backend.ref.provider, backend.ref.id) == ("handrail", root)
    assert await backend.working_dir() == root
    os.rename(root, f"{root}-moved")
    with pytest.raises(adapter.WorkspaceUnavailableError):
        await backend.working_dir()
    with pytest.raises(adapter.WorkspaceUnavailableError):
        await backend.read_bytes(f"{root}/nope")


async def test_files_are_read_written_listed_and_removed(backend, root):
    assert await backend.read_bytes(f"{root}/a.txt") == b"one\n"
    await backend.write_bytes(f"{root}/c.bin", bytearray(b"\xff"))
    assert await backend.read_bytes(f"{root}/c.bin") == b"\xff"
    await backend.make_dir(f"{root}/x/y")
    entries = {one.name: one for one in await backend.list_dir(root)}
    assert {name: one.is_dir for name, one in entries.items()} == {
        "a.txt": False,
        "c.bin": False,
        "link": True,
        "sub": True,
        "x": True,
    }
    assert (entries["a.txt"].path, entries["a.txt"].size) == (f"{root}/a.txt", 4)
    await backend.remove(f"{root}/x")
    assert not await backend.exists(f"{root}/x")
    assert await backend.exists(f"{root}/a.txt")
    assert not await backend.exists(f"{root}/a.txt/below")
    found = await backend.stat(f"{root}/link")
    assert (found.path, found.is_dir) == (f"{root}/link", True)


@pytest.mark.parametrize(
    ("method", "path", "error"),
    [
        ("read_bytes", "nope", FileNotFoundError),
        ("read_bytes", "a.txt/below", NotADirectoryError),
        ("read_bytes", "a.txt/below/more", NotADirectoryError),
        ("read_bytes", "sub/nope", FileNotFoundError),
        ("read_bytes", "sub", IsADirectoryError),
        ("list_dir", "a.txt", NotADirectoryError),
        ("list_dir", "nope", FileNotFoundError),
        ("stat", "nope", FileNotFoundError),
        ("make_dir", "a.txt", FileExistsError),
        ("write_bytes", "sub", IsADirectoryError),
        ("remove", "nope", FileNotFoundError),
        ("remove", "", ValueError),
        ("remove", "sub/..", ValueError),
        ("remove", "..", ValueError),
        ("read_bytes", "../out.txt", PermissionError),
    ],
)
async def test_problems_are_the_errors_that_other_backends_raise(
    backend, root, method, path, error
):
    more = [b"x"] if method == "write_bytes" else []

    with pytest.raises(error) as raised:
        await getattr(backend, method)(f"{root}/{path}".rstrip("/"), *more)

    assert type(raised.value) is error


@pytest.mark.parametrize("method", ["read_bytes", "stat", "list_dir", "make_dir", "remove"])
async def test_paths_are_absolute(backend, method):
    with pytest.raises(ValueError, match="absolute"):
        await getattr(backend, method)("a.txt")


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("a.txt", "a.txt"),
        ("link/b.txt", "sub/b.txt"),
        ("link/../a.txt", "a.txt"),
        ("sub/nope/../b.txt", "sub/b.txt"),
        ("..x", "..x"),
        ("sub/..", ""),
    ],
)
async def test_real_paths_have_no_links(backend, root, path, real):
    assert await backend.realpath(f"{root}/{path}") == f"{root}/{real}".rstrip("/")


async def test_commands_are_strings_for_a_shell_or_arguments(backend, monkeypatch, adapter):
    given = []

    def ends(**values):
        async def run_command(command, *, env, timeout_s):
            given.append((command, env, timeout_s))
            result = WorkspaceCommandOutput(3, "out", "err", timed_out=False, complete=True)
            return result._replace(**values)

        monkeypatch.setattr(backend._workspace, "run_command", run_command)

    ends()
    ended = await backend.run("ls", shell=True, env={"A": "1"}, timeout=2.5)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (3, "out", "err")
    await backend.run(["ls"])
    assert given == [("ls", {"A": "1"}, 2.5), (["ls"], None, None)]
    for wrong, shell in (("ls", False), (["ls"], True)):
        with pytest.raises(TypeError):
            await backend.run(wrong, shell=shell)
    for timeout in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            await backend.run(["ls"], timeout=timeout)
    ends(timed_out=True, complete=False)
    with pytest.raises(adapter.WorkspaceTimeoutError) as raised:
        await backend.run(["ls"])
    assert (raised.value.stdout, raised.value.stderr) == ("out", "err")
    ends(complete=False, stdout="x" * 70_000)
    with pytest.raises(adapter.WorkspaceOutputLimitError) as raised:
        await backend.run(["ls"])
    assert (raised.value.limit, len(raised.value.stdout)) == (70_003, 65_536)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("denied", PermissionError),
        ("needs_approval", PermissionError),
        ("invalid_arguments", ValueError),
        ("unavailable", "WorkspaceUnavailableError"),
        ("internal", OSError),
    ],
)
async def test_a_command_that_may_not_run_is_an_error(backend, monkeypatch, adapter, code, error):
    async def refuse(*_, **__):
        raise WorkspaceProblem(code, "no")

    monkeypatch.setattr(backend._workspace, "run_command", refuse)

    with pytest.raises(getattr(adapter, error) if isinstance(error, str) else error):
        await backend.run(["ls"])


def context(call_id="c1", *, approved=False, metadata=None):
    return SimpleNamespace(
        tool_call_id=call_id, tool_call_approved=approved, tool_call_metadata=metadata
    )


async def test_tools_are_declared_as_the_runtime_has_them(adapter, rt):
    named = await adapter.HandrailToolset(rt, tools=["read_file"]).get_tools(None)

    (tool,) = named.values()
    assert list(named) == ["read_file"] == [tool.tool_def.name]
    assert tool.tool_def.parameters_json_schema["properties"]["path"]
    assert tool.tool_def.description
    assert tool.max_retries == 1
    assert len(await adapter.HandrailToolset(rt).get_tools(None)) > 3
    assert adapter.HandrailToolset(rt).id == "handrail"
    assert adapter.HandrailToolset(rt, id=None).id is None


async def test_a_call_returns_its_text_or_fails(adapter, rt):
    toolset = adapter.HandrailToolset(rt)

    text = await toolset.call_tool("read_file", {"path": "a.txt"}, context(), None)
    assert "one" in text
    with pytest.raises(adapter.ToolFailed, match=r"nope\.txt"):
        await toolset.call_tool("read_file", {"path": "nope.txt"}, context(), None)


class Binding:
    """Asks about every call that has no answer."""

    def __init__(self, question="q1"):
        self.answers, self.question = [], question

    async def call(self, name, arguments, answer):
        self.answers.append(answer)
        result = ToolResult("c", Status.OK, "done", images=(Image("image/png", b"png"),))
        if answer is None:
            return SimpleNamespace(question=SimpleNamespace(to_dict=lambda: {"q": 1}), result=None)
        return SimpleNamespace(question=None, result=result)


@pytest.fixture
async def asking(adapter, rt, monkeypatch):
    toolset = adapter.HandrailToolset(rt)
    toolset._binding = Binding()
    monkeypatch.setattr(adapter, "fingerprint", lambda question: "shown")
    return toolset


async def ask(adapter, toolset, call_id):
    with pytest.raises(adapter.ApprovalRequired) as raised:
        await toolset.call_tool("t", {}, context(call_id), None)
    return raised.value.args[0]


async def test_an_approval_covers_what_was_shown(adapter, asking):
    assert await ask(adapter, asking, "c1") == {"handrail": {"q": 1}, "shown": "shown"}

    returned = await asking.call_tool("t", {}, context(approved=True), None)

    assert asking._binding.answers[-1].approved is True
    assert asking._binding.answers[-1].shown == "shown"
    assert returned.return_value == "done"
    assert returned.content[0] == "done"
    assert (returned.content[1].data, returned.content[1].media_type) == (b"png", "image/png")


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [(None, ""), ({}, ""), ({"shown": 1}, ""), ("shown", ""), ({"shown": "theirs"}, "theirs")],
)
async def test_in_another_process_the_metadata_says_what_was_shown(asking, metadata, shown):
    await asking.call_tool("t", {}, context(approved=True, metadata=metadata), None)

    assert asking._binding.answers[-1].shown == shown


async def test_what_was_shown_counts_once_and_is_forgotten_after_a_thousand(adapter, asking):
    for number in range(1_001):
        await ask(adapter, asking, f"c{number}")
    await ask(adapter, asking, None)

    shown = []
    for call_id in ("c0", "c1", "c1", "c1000", None):
        await asking.call_tool("t", {}, context(call_id, approved=True), None)
        shown.append(asking._binding.answers[-1].shown)
    assert shown == ["", "shown", "", "shown", ""]
