"""The workspace as a backend of deepagents, and approvals of graphs, without the frameworks."""

import os
import sys
from types import SimpleNamespace

import pytest
from tests.support.framework_doubles import load_adapter

import handrail.sync
from handrail.adapters.workspace import WorkspaceCommandOutput, WorkspaceProblem

GRAPH = (
    "langchain_core",
    "langchain_core.runnables",
    "langchain_core.runnables.config",
    "langgraph",
    "langgraph.types",
)
DEEP = (
    "deepagents",
    "deepagents.backends",
    "deepagents.backends.utils",
    "deepagents.backends.protocol",
)


def slice_lines(file, offset, limit):
    """Cuts lines out of a text, as the framework does."""
    lines = file["content"].splitlines(keepends=True)
    rest = len(lines) > offset + limit
    content = "".join(lines[offset : offset + limit])
    data = None if offset > len(lines) else {**file, "content": content}
    return SimpleNamespace(file_data=data, next_offset=offset + limit if rest else None)


@pytest.fixture
def adapter(monkeypatch):
    names = load_adapter(monkeypatch, "graph_approvals", *GRAPH)
    monkeypatch.setitem(sys.modules, "handrail.adapters.graph_approvals", names)
    # Nothing here runs in a graph.
    monkeypatch.setattr(names, "ensure_config", dict)
    return load_adapter(monkeypatch, "deepagents", *DEEP)


@pytest.fixture
def backend(adapter, tmp_path, monkeypatch):
    root = tmp_path / "w"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "sub" / "b.py").write_text("two = 2\n")
    monkeypatch.setattr(adapter, "slice_read_response", slice_lines)
    settings = {"store": ":memory:", "mode": "accept-edits", "allow_delete": True, "session": "s1"}
    with handrail.sync.open(root, **settings) as rt:
        yield adapter.HandrailBackend(rt)


@pytest.fixture
def root(backend):
    return backend._workspace.root


def test_the_session_names_the_backend(backend):
    assert backend.id == "s1"


def test_a_directory_is_listed_with_sizes(backend, root):
    found = {one.path: one for one in backend.ls(root).entries}

    assert found[f"{root}/sub"].is_dir is True
    assert (found[f"{root}/a.txt"].is_dir, found[f"{root}/a.txt"]["size"]) == (False, 14)
    assert backend.ls(f"{root}/nope").error == f"File '{root}/nope' not found"
    assert "absolute" in backend.ls("sub").error


def test_lines_are_read_without_the_newline_between_pages(backend, root):
    path = f"{root}/a.txt"

    assert backend.read(path).file_data == {"content": "one\ntwo\nthree\n", "encoding": "utf-8"}
    assert backend.read(path, 1, 1).file_data["content"] == "two"
    assert backend.read(path, 2, 5).file_data["content"] == "three\n"
    assert backend.read(path, 9).file_data is None
    assert backend.read("a.txt").error
    assert backend.read(f"{root}/nope").error == f"File '{root}/nope' not found"


def test_small_binary_files_are_read_whole(backend, root):
    for size in (512_000, 512_001):
        with open(f"{root}/c.bin", "wb") as file:
            file.write(b"\xff" * size)
        read = backend.read(f"{root}/c.bin")
        if size == 512_000:
            assert read.file_data["encoding"] == "base64"
            assert len(read.file_data["content"]) > size
        else:
            assert "512000 bytes" in read.error


def test_files_are_written_edited_and_deleted(backend, root):
    path = f"{root}/new.txt"

    assert backend.write(path, "a é a").path == path
    assert backend.edit(path, "é", "e").occurrences == 1
    assert backend.edit(path, "a", "b", replace_all=True).occurrences == 2
    with open(path) as file:
        assert file.read() == "b e b"
    assert backend.edit(path, "b", "c").error.startswith("String appears multiple times")
    assert backend.edit(path, "x", "y").error.startswith("String not found in file")
    assert backend.delete(path).path == path
    assert not os.path.exists(path)
    assert backend.delete(path).error == f"File '{path}' not found"
    assert backend.write(path, "\ud800").error.startswith(f"Error writing '{path}'")
    assert not os.path.exists(path)


@pytest.mark.parametrize("method", ["write", "edit", "delete"])
def test_paths_are_absolute(backend, method):
    more = {"write": ["x"], "edit": ["a", "b"], "delete": []}[method]

    assert "absolute" in getattr(backend, method)("a.txt", *more).error


def test_files_are_found_by_name(backend, root):
    def found(*words):
        return sorted(one.path for one in backend.glob(*words).matches)

    assert found("**/*.py") == [f"{root}/sub/b.py"]
    assert found("/*.txt") == [f"{root}/a.txt"]
    assert found("/*.py") == []
    assert found("*.py", f"{root}/sub") == [f"{root}/sub/b.py"]
    result = backend.glob("*.txt")
    assert (result.truncated, result.truncation_reason) == (False, None)
    assert not any(one.is_dir for one in result.matches)
    assert backend.glob("*", f"{root}/nope").error


def test_lines_are_found_by_their_text(backend, root):
    found = backend.grep("two")

    places = sorted((one.path, one.line, one.text) for one in found.matches)
    assert places == [(f"{root}/a.txt", 2, "two"), (f"{root}/sub/b.py", 1, "two = 2")]
    assert found.truncated is False
    assert [one.path for one in backend.grep("two", glob="*.txt").matches] == [f"{root}/a.txt"]
    assert backend.grep("t.o").matches == []
    limited = backend.grep("two", max_count=1)
    assert (len(limited.matches), limited.truncated) == (1, True)
    assert backend.grep("two", f"{root}/nope").error


def test_a_search_collects_pages_up_to_a_limit(backend, monkeypatch):
    asked = []

    async def call(tool, **page):
        asked.append((page["offset"], page["limit"]))
        found = list(range(page["offset"], min(page["offset"] + page["limit"], 2_500)))
        after = page["offset"] + len(found)
        data = {"paths": found, "next_offset": after if after < 2_500 else None, "partial": False}
        return SimpleNamespace(data=data)

    monkeypatch.setattr(backend._workspace, "call", call)

    found, more = backend._collect("find_files", "paths", {}, 10_000)
    assert (found, more) == (list(range(2_500)), False)
    assert asked == [(0, 1_000), (1_000, 1_000), (2_000, 1_000)]
    found, more = backend._collect("find_files", "paths", {}, 1_500)
    assert (len(found), more) == (1_500, True)
    assert asked[3:] == [(0, 1_000), (1_000, 500)]


def test_files_are_transferred_each_with_its_result(backend, root):
    uploads = backend.upload_files(
        [
            (f"{root}/x.bin", bytearray(b"\xff")),
            ("x", b""),
            (f"{root}/sub", b""),
            (f"{root}/.git/config", b""),
        ]
    )
    assert [one.error for one in uploads] == [
        None,
        "invalid_path",
        "is_directory",
        "permission_denied",
    ]
    downloads = backend.download_files([f"{root}/x.bin", f"{root}/nope", "x", f"{root}/sub"])
    assert [(one.content, one.error) for one in downloads] == [
        (b"\xff", None),
        (None, "file_not_found"),
        (None, "invalid_path"),
        (None, "is_directory"),
    ]


def test_commands_end_with_their_output_and_code(backend, monkeypatch):
    given = []

    def ends(problem=None, **values):
        async def run_command(command, *, timeout_s):
            given.append((command, timeout_s))
            if problem is not None:
                raise problem
            result = WorkspaceCommandOutput(3, "out", "err", timed_out=False, complete=True)
            return result._replace(**values)

        monkeypatch.setattr(backend._workspace, "run_command", run_command)

    ends()
    ended = backend.execute("ls", timeout=5)
    assert (ended.output, ended.exit_code, ended.truncated) == ("outerr", 3, False)
    ends(timed_out=True, complete=False)
    ended = backend.execute("ls", timeout=0)
    assert (ended.exit_code, ended.truncated) == (124, True)
    assert ended.output.startswith("outerr\nError: ")
    ends(WorkspaceProblem("denied", "a rule"))
    ended = backend.execute("ls")
    assert (ended.exit_code, ended.output.splitlines()[0]) == (126, "Error: a rule")
    assert given == [("ls", 5), ("ls", None), ("ls", None)]
