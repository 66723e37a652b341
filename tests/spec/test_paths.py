"""The path corpus through the front door: every file and search tool, in every dialect."""

import json

import anyio
import pytest
from tests.support.layout import build_layout, corpus

import handrail
from handrail.dialects.known import DIALECTS, find_vocabulary

ROWS = [
    row
    for row in corpus("paths_escape.jsonl", "path", "glob", "search_path", "archive_member")
    # "link->" tells a story about an archive, it is not a path.
    if not row["path"].startswith("link->")
]
GOOD = corpus("paths_ok.jsonl")

# Which tool does what a row tries; the others are pointed at the same path as well.
DIRECT = {
    ("read", "path"): [("read_file", "path", {})],
    ("write", "path"): [("write_file", "path", {"content": "x"})],
    ("write", "archive_member"): [("write_file", "path", {"content": "x"})],
    ("delete", "path"): [("delete_file", "path", {})],
    ("list", "path"): [("list_files", "path", {})],
    ("list", "glob"): [("list_files", "pattern", {"recursive": True})],
    ("read", "search_path"): [("grep", "path", {"pattern": "."}), ("list_files", "path", {})],
}
EVERY = [
    ("read_file", "path", {}),
    ("file_info", "path", {}),
    ("list_files", "path", {}),
    ("list_files", "path", {"recursive": True}),
    ("grep", "path", {"pattern": "SECRET|KEY", "output_mode": "content"}),
    ("find_files", "path", {"pattern": "*"}),
    ("find_files", "pattern", {}),
    ("grep", "glob", {"pattern": "SECRET|KEY", "output_mode": "content"}),
    ("list_files", "pattern", {}),
    ("edit_file", "path", {"old_string": "SECRET", "new_string": "x"}),
    ("edit_file", "path", {"old_string": "", "new_string": "x"}),
    ("write_file", "path", {"content": "x"}),
    ("write_file", "path", {"content": "x", "mode": "append"}),
    ("delete_file", "path", {}),
]


def spelled(dialect, tool, arguments):
    vocabulary = find_vocabulary(dialect)
    view = vocabulary.shown(tool)
    return view.name, vocabulary.spell(view, arguments)


@pytest.mark.feature("I01", "I02", "I03", "I05", "I06")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_no_escape_through_any_tool(tmp_path, dialect):
    layout = build_layout(tmp_path)
    before = layout.outside()
    leaks, allowed = [], []

    async with handrail.open(
        layout.work, dialect=dialect, mode="accept-edits", allow_delete=True, store=":memory:"
    ) as rt:
        for row in ROWS:
            path = layout.path_of(row)
            direct = DIRECT[row["op"], row["channel"]]
            for tool, argument, rest in [*direct, *EVERY]:
                name, arguments = spelled(dialect, tool, {argument: path, **rest})
                with anyio.fail_after(5):
                    result = await rt.call(name, arguments)
                said = result.text + json.dumps(result.data, default=str)
                if row["category"] == "hardlink":
                    # A second name inside is readable; only writing through it would escape.
                    said = ""
                if "SECRET\n" in said or ":SECRET" in said or ":KEY" in said or "KEY\n" in said:
                    leaks.append((row["id"], name, arguments))
                if (tool, argument, rest) in direct and row["expect"] == "deny" and result.ok:
                    allowed.append((row["id"], name, arguments))

    assert leaks == []
    assert allowed == []
    assert layout.outside() == before


@pytest.mark.feature("I01", "I03", "E03")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("row", GOOD, ids=[row["id"] for row in GOOD])
async def test_legitimate_paths_work(tmp_path, dialect, row):
    layout = build_layout(tmp_path)
    tool, argument, rest = DIRECT[row["op"], row["channel"]][0]
    name, arguments = spelled(dialect, tool, {argument: layout.path_of(row), **rest})

    async with handrail.open(
        layout.work, dialect=dialect, mode="accept-edits", store=":memory:"
    ) as rt:
        result = await rt.call(name, arguments)

    assert result.ok, result.text


@pytest.mark.feature("I05")
async def test_additional_directories_are_roots_too(tmp_path):
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    (other / "b.txt").write_text("b\n")

    async with handrail.open(
        work, directories=[other], mode="accept-edits", store=":memory:"
    ) as rt:
        read = await rt.call("read_file", {"path": str(other / "b.txt")})
        wrote = await rt.call("write_file", {"path": str(other / "c.txt"), "content": "c"})
        found = await rt.call("find_files", {"pattern": "*.txt", "path": str(other)})
        outside = await rt.call("read_file", {"path": str(tmp_path / "x")})

    assert read.text == "b"
    assert wrote.ok
    assert (other / "c.txt").read_text() == "c"
    assert str(other / "b.txt") in found.text
    assert outside.problem.code == "outside_workspace"
