"""The tools of backends, called directly: contents by hash, plans, and what is at a path."""

import hashlib
from types import SimpleNamespace

import pytest

from handrail.adapters import messages
from handrail.adapters.workspace_tools import (
    HandedContents,
    WorkspaceInspect,
    WorkspaceList,
    WorkspaceMakeDirectory,
    WorkspaceRead,
    WorkspaceWrite,
    WriteParams,
    _failed,
    _preview,
    collected_contents,
)
from handrail.core.places import Kind
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content


class DiskFiles:
    """One file `/w/a` with three bytes in a directory."""

    def __init__(self, data=b"old"):
        self.data = data
        self.entries = [("a", Kind.FILE), ("sub", Kind.DIRECTORY)]

    def stat(self, place):
        return None if place.kind is Kind.MISSING else SimpleNamespace(size=len(self.data))

    def read(self, place, max_bytes=None):
        return SimpleNamespace(content=Content(self.data), stat=self.stat(place))

    def locate(self, path):
        return place(Kind.FILE, path)

    def scan(self, place):
        return [SimpleNamespace(name=name, kind=kind) for name, kind in self.entries]


def place(kind, path="/w/a", above=0):
    return SimpleNamespace(
        kind=kind, path="a", shown="a", absolute=path, missing_above=above, form=None
    )


def context(kind, **options):
    reads = []
    return SimpleNamespace(
        places={"path": place(kind, **options)},
        session=SimpleNamespace(now_ns=lambda: 5),
        reads=SimpleNamespace(record_read=lambda *facts: reads.append(facts)),
        seen=reads,
    )


def test_a_content_is_kept_as_often_as_it_was_handed_over():
    contents = HandedContents()
    digest = contents.hand_over(b"x")
    assert digest == hashlib.sha256(b"x").hexdigest()
    assert contents.look("other") is None
    for left in (2, 1, 0):
        if left == 2:
            contents.hand_over(b"x")
            contents.hand_over(b"x")
        assert contents.look(digest) == b"x"
        contents.drop(digest)
    assert contents.look(digest) is None


@pytest.mark.parametrize("tool", [WorkspaceRead, WorkspaceInspect, WorkspaceList, WorkspaceWrite])
def test_no_model_is_shown_the_tools(tool):
    assert tool(DiskFiles(), HandedContents()).shown(None) is False


async def test_a_file_is_read_beside_the_result():
    tool, ctx = WorkspaceRead(DiskFiles(b"x" * 1_234), HandedContents()), context(Kind.FILE)
    collected = []
    token = collected_contents.set(collected)
    try:
        found = await tool.run(None, ctx)
    finally:
        collected_contents.reset(token)
    assert collected == [b"x" * 1_234]
    digest = hashlib.sha256(collected[0]).hexdigest()
    assert (found.text, found.data) == ("1,234 bytes", {"sha256": digest, "size": 1_234})
    assert [facts[0] for facts in ctx.seen] == ["/w/a"]
    await tool.run(None, ctx)
    assert len(collected) == 1


async def test_what_is_no_file_is_not_read():
    tool = WorkspaceRead(DiskFiles(), HandedContents())
    with pytest.raises(ProblemRaised) as raised:
        await tool.run(None, context(Kind.MISSING))
    assert raised.value.problem.code == "not_found"
    found = await tool.run(None, context(Kind.DIRECTORY))
    assert found.problem is not None
    assert found.data == {"kind": "directory"}
    assert found.text == found.problem.message


@pytest.mark.parametrize(
    ("kind", "size"), [(Kind.FILE, 3), (Kind.DIRECTORY, None), (Kind.MISSING, None)]
)
async def test_what_is_at_a_path(kind, size):
    found = await WorkspaceInspect(DiskFiles(), HandedContents()).run(None, context(kind))
    assert found.data == {"kind": kind.value, "size": size, "absolute": "/w/a"}
    assert found.text == f"a: {kind.value}"


async def test_a_directory_is_listed_with_the_sizes_of_files():
    tool = WorkspaceList(DiskFiles(), HandedContents())
    found = await tool.run(None, context(Kind.DIRECTORY))
    assert found.data == {
        "entries": [
            {"name": "a", "kind": "file", "size": 3},
            {"name": "sub", "kind": "directory", "size": None},
        ]
    }
    assert found.text == "2 entries"
    assert (await tool.run(None, context(Kind.FILE))).data == {"kind": "file"}
    with pytest.raises(ProblemRaised):
        await tool.run(None, context(Kind.MISSING))


async def written(kind, data, old=b"old", hand_over=True):
    tool = WorkspaceWrite(DiskFiles(old), HandedContents())
    digest = tool.contents.hand_over(data) if hand_over else "0" * 64
    return await tool.plan(
        WriteParams.model_construct(path="a", sha256=digest, size=len(data)), context(kind)
    )


async def test_a_write_is_planned_against_what_is_there():
    plan = await written(Kind.FILE, b"new")
    (change,) = plan.changes
    assert (change.before.tobytes(), change.after.tobytes()) == (b"old", b"new")
    assert change.seen.size == 3
    assert (plan.text, plan.data) == ("wrote a (3 bytes)", {"bytes": 3})
    assert "-old" in plan.preview and "+new" in plan.preview


async def test_a_new_file_has_nothing_before():
    (change,) = (await written(Kind.MISSING, b"")).changes
    assert (change.before, change.after.tobytes(), change.seen) == (None, b"", None)


async def test_the_same_bytes_again_change_nothing():
    plan = await written(Kind.FILE, b"old")
    assert (plan.changes, plan.preview, plan.data) == ((), "", {"bytes": 3})


@pytest.mark.parametrize(
    ("kind", "hand_over", "code"),
    [(Kind.DIRECTORY, True, "exists"), (Kind.FILE, False, None)],
)
async def test_a_write_that_cannot_be_planned(kind, hand_over, code):
    with pytest.raises(ProblemRaised) as raised:
        await written(kind, b"x", hand_over=hand_over)
    assert code in (None, raised.value.problem.code)


@pytest.mark.parametrize(
    ("above", "paths"), [(0, ["/w/x/y/z"]), (2, ["/w/x", "/w/x/y", "/w/x/y/z"])]
)
async def test_missing_directories_are_made_from_the_top(above, paths):
    tool = WorkspaceMakeDirectory(DiskFiles(), HandedContents())
    plan = await tool.plan(None, context(Kind.MISSING, path="/w/x/y/z", above=above))
    assert [change.place.absolute for change in plan.changes] == paths
    assert {change.after_form.name for change in plan.changes} == {"FOLDER"}
    assert (await tool.plan(None, context(Kind.DIRECTORY))).changes == ()
    with pytest.raises(ProblemRaised) as raised:
        await tool.plan(None, context(Kind.FILE))
    assert raised.value.problem.code == "exists"


@pytest.mark.parametrize(
    ("old", "new"), [(b"\0\1", b"new\n"), (b"old\n", b"\0\1"), (b"x" * 1_999_998, b"new")]
)
def test_what_cannot_be_compared_is_told_by_sizes(old, new):
    told = _preview(place(Kind.FILE), old, new)
    assert told.startswith("a: ")
    assert f"{len(old):,} bytes" in told and f"{len(new):,} bytes" in told
    assert told.endswith(hashlib.sha256(new).hexdigest())


def test_texts_are_compared_line_by_line():
    told = _preview(place(Kind.FILE), b"a\nb\n", b"a\nc\n").splitlines()
    assert "-b" in told and "+c" in told and " a" in told


def test_a_failure_names_what_is_there():
    found = _failed(messages.NOT_A_FILE, place(Kind.DIRECTORY))
    assert found.data == {"kind": "directory"}
    assert found.problem.field == "path"
