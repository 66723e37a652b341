import os

import pytest


@pytest.mark.feature("E27")
async def test_a_text_file_is_described(workspace):
    target = workspace.write("a.txt", "one\ntwo")
    target.chmod(0o640)
    os.utime(target, (1_700_000_000, 1_700_000_000))

    output = await workspace.run("file_info", path="a.txt")

    assert output.data == {
        "path": "a.txt",
        "type": "file",
        "size": 7,
        "modified": "2023-11-14T22:13:20+00:00",
        "mode": "0640",
        "lines": 2,
        "encoding": "utf-8",
        "line_endings": "lf",
    }
    assert output.text.splitlines()[2] == "size: 7"


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (b"", (0, "utf-8", "none")),
        (b"one", (1, "utf-8", "none")),
        (b"a\r\nb\r\n", (2, "utf-8", "crlf")),
        (b"a\r\nb\n", (2, "utf-8", "mixed")),
        (b"a\rb\r", (1, "utf-8", "cr")),
        (b"\xef\xbb\xbf", (0, "utf-8-sig", "none")),
        ("x\u0a0a\ny\n".encode("utf-16"), (2, "utf-16-le", "lf")),
        ("né né\n".encode("latin-1"), (1, "cp1252", "lf")),
    ],
)
async def test_lines_encoding_and_endings_are_told(workspace, data, facts):
    workspace.write("a", data)

    info = (await workspace.run("file_info", path="a")).data

    assert (info["lines"], info["encoding"], info["line_endings"]) == facts


async def test_a_binary_file_has_no_lines(workspace):
    workspace.write("a", b"\0\1\2\3")

    info = (await workspace.run("file_info", path="a")).data

    assert (info["encoding"], "lines" in info) == ("binary", False)


async def test_a_directory_tells_how_many_entries_it_has(workspace):
    workspace.write("d/a", "")
    workspace.write("d/b", "")

    info = (await workspace.run("file_info", path="d")).data

    assert (info["type"], info["entries"]) == ("directory", 2)


async def test_a_file_named_by_a_link_tells_its_real_path(workspace):
    workspace.write("real", "x")
    (workspace.root / "link").symlink_to("real")

    info = (await workspace.run("file_info", path="./link")).data
    plain = (await workspace.run("file_info", path="./real")).data

    assert (info["path"], info["named"]) == ("real", "./link")
    assert "named" not in plain


async def test_a_missing_file_is_not_found(workspace):
    problem = await workspace.problem("file_info", path="nope")

    assert problem.code == "not_found"
