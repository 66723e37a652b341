import os
import threading

import pytest

from handrail.tools.files import write_file


@pytest.mark.feature("E08")
async def test_a_new_file_is_created_with_the_directories_above_it(workspace):
    plan = await workspace.change("write_file", path="new/deep/a.txt", content="one\ntwo\n")

    assert workspace.read("new/deep/a.txt") == b"one\ntwo\n"
    assert plan.text == "created new/deep/a.txt (2 lines, 8 bytes)"
    assert plan.preview == ("--- /dev/null\n+++ b/new/deep/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two")
    assert plan.data == {"path": "new/deep/a.txt", "created": True, "lines": 2, "bytes": 8}


@pytest.mark.feature("E08")
async def test_an_existing_file_is_overwritten_and_the_diff_shown(workspace):
    workspace.write("a", "one\ntwo\n")

    plan = await workspace.change("write_file", path="a", content="one\n2\n")

    assert workspace.read("a") == b"one\n2\n"
    assert plan.text == "overwrote a (2 lines, 6 bytes)"
    assert plan.preview == "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2"


async def test_the_same_content_changes_nothing(workspace):
    workspace.write("a", "same\n")

    plan = await workspace.plan("write_file", path="a", content="same\n")

    assert plan.changes == ()
    assert "unchanged" in plan.text


@pytest.mark.parametrize(
    ("mode", "content", "lines", "size"),
    [
        ("overwrite", "one\ntwo\n", 0, 8),
        ("overwrite", "one\n2\n3\n", 3, 8),
        ("overwrite", "", 0, 0),
        ("append", "", 0, 8),
        ("append", "three\n4", 2, 15),
    ],
)
async def test_the_result_counts_the_lines_that_were_written_and_the_bytes_there_are(
    workspace, mode, content, lines, size
):
    workspace.write("a", "one\ntwo\n")

    plan = await workspace.change("write_file", path="a", content=content, mode=mode)

    assert plan.data == {"path": "a", "created": False, "lines": lines, "bytes": size}
    assert len(workspace.read("a")) == size


@pytest.mark.feature("E08")
async def test_append_adds_to_the_end_and_keeps_the_rest(workspace):
    workspace.write("a", b"one\xff\nno newline")

    plan = await workspace.change("write_file", path="a", content="more\n", mode="append")

    assert workspace.read("a") == b"one\xff\nno newlinemore\n"
    assert plan.text == "appended 1 line to a"
    assert "-no newline\n" in plan.preview
    assert "+no newlinemore" in plan.preview


async def test_the_preview_of_an_append_has_the_numbers_of_its_lines(workspace):
    workspace.write("a", "one\ntwo\nthree\n")

    plan = await workspace.plan("write_file", path="a", content="four\n", mode="append")

    assert "@@ -1,3 +1,4 @@\n one\n two\n three\n+four" in plan.preview


async def test_append_to_a_missing_file_creates_it(workspace):
    await workspace.change("write_file", path="a", content="x", mode="append")

    assert workspace.read("a") == b"x"


async def test_appending_nothing_changes_nothing(workspace):
    workspace.write("a", "x")

    plan = await workspace.plan("write_file", path="a", content="", mode="append")

    assert plan.changes == ()


@pytest.mark.parametrize(
    ("before", "mode", "after"),
    [
        ("alt\n".encode("utf-16"), "append", "alt\nné\n".encode("utf-16")),
        ("alt ö\n".encode("latin-1"), "append", "alt ö\nné\n".encode("latin-1")),
        (b"\xef\xbb\xbfalt\n", "append", b"\xef\xbb\xbfalt\nn\xc3\xa9\n"),
        (b"\xef\xbb\xbfalt\n", "overwrite", b"\xef\xbb\xbfn\xc3\xa9\n"),
        ("alt\n".encode("utf-16"), "overwrite", "né\n".encode("utf-16")),
        (b"\xfe\xff" + "alt\n".encode("utf-16-be"), "overwrite", b"\xfe\xff\0n\0\xe9\0\n"),
        (b"a\r\nb\r\n", "overwrite", b"n\xc3\xa9\r\n"),
        (b"a\r\nb\r\n", "append", b"a\r\nb\r\nn\xc3\xa9\r\n"),
        (b"a\r\nb\n", "overwrite", b"n\xc3\xa9\n"),
        (b"\0\1\2", "overwrite", b"n\xc3\xa9\n"),
    ],
)
async def test_the_form_of_an_existing_file_is_kept(workspace, before, mode, after):
    workspace.write("a", before)

    await workspace.change("write_file", path="a", content="né\n", mode=mode)

    assert workspace.read("a") == after


async def test_keeping_crlf_is_said(workspace):
    workspace.write("a", b"a\r\n")

    plan = await workspace.change("write_file", path="a", content="b\n")

    assert plan.text.startswith("overwrote a (1 line, 3 bytes); ")
    assert plan.text.endswith("are CRLF, as before")


async def test_crlf_that_is_spelled_out_is_not_doubled(workspace):
    workspace.write("a", b"a\r\n")

    await workspace.change("write_file", path="a", content="b\r\nc\r\n")

    assert workspace.read("a") == b"b\r\nc\r\n"


async def test_a_byte_order_mark_is_not_doubled(workspace):
    workspace.write("a", b"\xef\xbb\xbfold")

    await workspace.change("write_file", path="a", content="\ufeffnew")

    assert workspace.read("a") == b"\xef\xbb\xbfnew"


async def test_a_new_encoding_is_said(workspace):
    workspace.write("a", "naïve und müde\n".encode("latin-1"))

    plan = await workspace.change("write_file", path="a", content="漢字\n")

    assert workspace.read("a") == "漢字\n".encode()
    assert "cp1252, now it is utf-8" in plan.text


async def test_a_directory_and_a_pipe_are_refused(workspace):
    (workspace.root / "d").mkdir()
    os.mkfifo(workspace.root / "pipe")

    directory = await workspace.problem("write_file", path="d", content="x")
    pipe = await workspace.problem("write_file", path="pipe", content="x")

    assert (directory.code, pipe.code) == ("not_text", "not_text")


async def test_the_preview_of_a_long_change_ends_early_and_says_so(workspace):
    workspace.write("a", "".join(f"old {n}\n" for n in range(3000)))

    plan = await workspace.plan(
        "write_file", path="a", content="".join(f"new {n}\n" for n in range(3000))
    )

    assert plan.preview.count("\n") < 410
    assert "more diff lines]" in plan.preview


@pytest.mark.parametrize(("limit", "compared"), [(7, False), (8, True)])
async def test_the_preview_of_large_contents_does_not_compare_them(
    workspace, monkeypatch, limit, compared
):
    monkeypatch.setattr(write_file, "_MAX_DIFFED", limit)
    workspace.write("a", "old\n")

    plan = await workspace.plan("write_file", path="a", content="new\n")

    assert ("-old\n+new" in plan.preview) is compared
    assert ("4 bytes" in plan.preview) is not compared


async def test_the_preview_of_binary_content_is_its_size(workspace):
    workspace.write("a", b"\0\1\2")

    plan = await workspace.plan("write_file", path="a", content="new\n")

    assert "3 bytes" in plan.preview
    assert "new" not in plan.preview


async def test_a_symlink_stays_a_symlink_and_its_target_is_written(workspace):
    workspace.write("real", "x")
    link = workspace.root / "link"
    link.symlink_to("real")

    plan = await workspace.change("write_file", path="link", content="y")

    assert link.is_symlink()
    assert (workspace.read("real"), plan.changes[0].path) == (b"y", "real")


@pytest.mark.feature("E10")
async def test_an_overwritten_file_keeps_its_mode_and_gets_a_new_inode(workspace):
    target = workspace.write("a.sh", "old")
    target.chmod(0o750)
    before = target.stat()

    plan = await workspace.change("write_file", path="a.sh", content="new")

    after = target.stat()
    assert after.st_mode == before.st_mode
    assert after.st_ino != before.st_ino
    assert plan.changes[0].before.tobytes() == b"old"


async def test_a_large_new_file_is_planned_beside_the_event_loop(workspace, monkeypatch):
    threads = []
    real = write_file.plan_creation

    def creation(place, text):
        threads.append(threading.current_thread())
        return real(place, text)

    monkeypatch.setattr(write_file, "plan_creation", creation)
    small = await workspace.plan("write_file", path="small.txt", content="x\n")
    large = await workspace.plan("write_file", path="large.txt", content="x\n" * 600_000)

    assert threads[0] is threading.current_thread()
    assert threads[1] is not threading.current_thread()
    assert small.data["lines"] == 1
    assert large.data["lines"] == 600_000
    assert large.preview.endswith("\n+x\n[599,601 more diff lines]")


async def test_a_diff_shows_no_raw_nul(workspace):
    plan = await workspace.plan("write_file", path="a", content="one\0two\n")

    assert "+one\\x00two" in plan.preview
    assert "\0" not in plan.preview
