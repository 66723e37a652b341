"""Reading: what is a file, what is refused, and never a hang."""

import errno
import os
import socket
import time

import pytest
from tests.support.layout import build_layout

from handrail.core.places import Entry, Kind
from handrail.core.plan import Change
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.host.files import reading
from handrail.host.files.local_files import LocalFiles


def refusal(action, *args, **kwargs):
    with pytest.raises(ProblemRaised) as raised:
        action(*args, **kwargs)
    return raised.value.problem


def test_a_file_is_read_whole_with_its_stat(work, files):
    (work / "a.bin").write_bytes(bytes(range(256)))

    read = files.read(files.locate("a.bin"))

    info = (work / "a.bin").stat()
    assert read.content.tobytes() == bytes(range(256))
    assert read.stat[:7] == (
        info.st_dev,
        info.st_ino,
        256,
        info.st_mtime_ns,
        info.st_ctime_ns,
        info.st_mode,
        1,
    )


def test_reading_costs_two_system_calls_between_open_and_close(work, files, monkeypatch):
    (work / "a.txt").write_bytes(b"x" * 1000)
    place = files.locate("a.txt")
    calls = []
    for name in ("fstat", "read", "close", "stat", "lseek"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, _n=name, _r=real, **k: calls.append(_n) or _r(*a, **k)
        )

    files.read(place)

    assert calls == ["fstat", "read", "close"]


@pytest.mark.parametrize("short", [1, 7, 100])
def test_reads_that_come_in_pieces_are_put_together(work, files, monkeypatch, short):
    data = os.urandom(1000)
    (work / "a.bin").write_bytes(data)
    real = os.read
    monkeypatch.setattr(reading.os, "read", lambda fd, count: real(fd, min(count, short)))

    assert files.read(files.locate("a.bin")).content.tobytes() == data


def test_a_file_that_never_ends_is_refused(work, files, monkeypatch):
    (work / "a.bin").write_bytes(b"x")
    monkeypatch.setattr(reading.os, "read", lambda fd, count: b"x" * count)

    assert refusal(files.read, files.locate("a.bin")).code == "unavailable"


def test_a_limit_refuses_larger_files_and_says_how_to_go_on(work, files):
    (work / "a.txt").write_bytes(b"x" * 11)

    assert files.read(files.locate("a.txt"), max_bytes=11).content.size == 11
    problem = refusal(files.read, files.locate("a.txt"), max_bytes=10)
    assert (problem.code, problem.hint) == ("too_large", "read a part of it with offset and limit")


def test_a_part_is_read_by_byte_offset(work, files):
    (work / "a.bin").write_bytes(b"0123456789")

    assert files.read_part(files.locate("a.bin"), 3, 4) == b"3456"
    assert files.read_part(files.locate("a.bin"), 8, 100) == b"89"
    assert files.read_part(files.locate("a.bin"), 100, 1) == b""


def test_a_directory_is_not_read_but_listed(work, files):
    (work / "src").mkdir()

    problem = refusal(files.read, files.locate("src"))

    assert problem.code == "not_found"
    assert "is a directory" in problem.message
    assert "list_files" in problem.hint


def test_special_files_are_named_and_never_waited_for(tmp_path, opener):
    layout = build_layout(tmp_path)
    files = LocalFiles([layout.work])

    messages = {}
    for name in ("pipe", "sock"):
        for action in (files.read, lambda place: files.window(place, 1, 1)):
            problem = refusal(action, files.locate(name))
            assert problem.code == "not_text"
            messages[name] = problem.message

    assert messages == {
        "pipe": "'pipe' is a named pipe, not a regular file",
        "sock": "'sock' is a socket, not a regular file",
    }
    files.close()


def test_a_device_is_refused_without_being_opened(monkeypatch):
    files = LocalFiles(["/dev"])
    opened = []
    real = files._roots.opener
    monkeypatch.setattr(
        files._roots, "opener", lambda h, p, flags: opened.append(flags) or real(h, p, flags)
    )

    problem = refusal(files.read, files.locate("zero"))

    assert problem.message.startswith("'zero' is a device,")
    assert problem.message.endswith("not a regular file")
    assert reading.READ not in opened
    files.close()


def test_a_file_that_became_a_pipe_is_refused_without_waiting(work, files):
    (work / "a").write_text("x")
    place = files.locate("a")
    (work / "a").unlink()
    os.mkfifo(work / "a")

    assert "named pipe, not a regular" in refusal(files.read, place).message


def test_a_file_that_became_a_socket_is_refused(work, files):
    (work / "a").write_text("x")
    place = files.locate("a")
    (work / "a").unlink()
    handle = os.open(work, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{handle}/a")
    os.close(handle)

    assert refusal(files.read, place).code == "not_text"


def test_a_directory_that_became_a_link_is_stale_and_not_followed(tmp_path, work, opener):
    (work / "d").mkdir()
    (work / "d" / "x").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("SECRET")
    files = LocalFiles([work])
    place = files.locate("d/x")
    (work / "d").rename(work / "old")
    (work / "d").symlink_to(tmp_path / "outside")

    for action in (files.read, files.stat, lambda place: files.window(place, 1, 1)):
        assert refusal(action, place).code == "stale"
    files.close()


def test_what_the_system_denies_is_told(work, files, monkeypatch):
    (work / "a").write_text("x")
    place = files.locate("a")

    def deny(handle, path, flags):
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(files._roots, "opener", deny)

    for action in (files.read, files.stat, files.scan):
        assert refusal(action, place).code == "denied"


@pytest.mark.feature("R-24")
def test_a_missing_file_names_up_to_ten_that_were_perhaps_meant(work, files):
    (work / "src").mkdir()
    for n in range(20):
        (work / "src" / f"config_{n}.py").write_text("")
    (work / "docs").mkdir()
    (work / "docs" / "config.py").write_text("")

    hint = refusal(files.read, files.locate("src/config_.py")).hint

    assert hint.startswith("did you mean ")
    assert hint.count("'") == 20
    assert "'src/config_1.py'" in hint


def test_names_that_only_end_alike_are_not_suggested(work, files):
    for name in ("c.txt", "t0.txt", "latin.txt", "zap.txt"):
        (work / name).touch()

    with pytest.raises(ProblemRaised) as raised:
        files.read(files.locate("zip.txt"))

    assert raised.value.problem.hint == "did you mean 'zap.txt'?"


def test_the_same_name_elsewhere_and_another_case_are_suggested(work, files):
    (work / "lib" / "deep").mkdir(parents=True)
    (work / "lib" / "deep" / "main.py").write_text("")
    (work / "Readme.MD").write_text("")

    assert "'lib/deep/main.py'" in refusal(files.read, files.locate("src/main.py")).hint
    assert "'Readme.MD'" in refusal(files.read, files.locate("README.md")).hint
    assert refusal(files.read, files.locate("zzz")).hint == "list_files shows what is there"


def test_suggestions_do_not_look_outside_or_into_what_is_hidden(tmp_path, work):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "main.py").write_text("")
    (work / "out").symlink_to("../outside")
    (work / "state").mkdir()
    (work / "state" / "main.py").write_text("")
    files = LocalFiles([work], hidden=[str(work / "state")])

    assert "main.py'" not in refusal(files.read, files.locate("main.py")).hint
    files.close()


def test_stat_is_none_for_what_is_missing(work, files):
    (work / "file").write_text("x")
    place = files.locate("file")

    assert files.stat(place).size == 1
    assert files.stat(files.locate("missing/too")) is None
    (work / "file").unlink()
    assert files.stat(place) is None


def test_a_stat_is_settled_only_when_time_stamps_prove_it(work, files, monkeypatch):
    (work / "a").write_text("x")
    changed = (work / "a").stat().st_ctime_ns
    place = files.locate("a")
    ages = {0: False, 19_000_000: False, 21_000_000: True, -5_000_000_000: False}

    for age, settled in ages.items():
        monkeypatch.setattr(time, "time_ns", lambda age=age: changed + age)
        assert files.stat(place).settled is settled


def test_a_directory_is_listed_sorted_with_kinds(tmp_path, work, opener):
    (work / "b.txt").write_text("")
    (work / "a").mkdir()
    os.mkfifo(work / "p")
    (work / "l_dir").symlink_to("a")
    (work / "l_out").symlink_to("/etc")
    (work / "l_gone").symlink_to("gone")
    files = LocalFiles([work])

    assert files.scan(files.locate(".")) == [
        Entry("a", Kind.DIRECTORY, is_link=False),
        Entry("b.txt", Kind.FILE, is_link=False),
        Entry("l_dir", Kind.DIRECTORY, is_link=True),
        Entry("l_gone", Kind.MISSING, is_link=True),
        Entry("l_out", Kind.SPECIAL, is_link=True),
        Entry("p", Kind.SPECIAL, is_link=False),
    ]
    files.close()


def test_a_name_that_is_no_text_is_listed_in_a_form_that_is(work, files):
    (work / os.fsdecode(b"bad\xff")).write_text("")

    assert [entry.name for entry in files.scan(files.locate("."))] == ["bad\ufffd"]


def test_listing_a_file_or_nothing_is_refused(work, files):
    (work / "file").write_text("x")

    assert "read_file" in refusal(files.scan, files.locate("file")).hint
    assert refusal(files.scan, files.locate("missing")).code == "not_found"


def test_unchanged_needs_a_settled_stat_or_the_same_bytes(work, files, monkeypatch):
    path = work / "a"
    path.write_bytes(b"old")
    place = files.locate("a")
    seen = files.read(place)
    change = Change(place, seen.content, Content(b"new"), seen.stat._replace(settled=True))
    fresh = Change(place, seen.content, Content(b"new"), seen.stat._replace(settled=False))
    assert files.unchanged(change)
    assert files.unchanged(fresh)

    os.utime(path)
    assert files.unchanged(change), "touched, but the bytes are the same"

    path.write_bytes(b"odd")
    os.utime(path, ns=(seen.stat.mtime_ns, seen.stat.mtime_ns))
    assert not files.unchanged(change)
    assert not files.unchanged(fresh)

    path.unlink()
    assert not files.unchanged(change)
    assert files.unchanged(Change(place, None, Content(b"new")))
    path.mkdir()
    assert not files.unchanged(change)


def test_unchanged_understands_missing_and_blocked_directories(work, files):
    place = files.locate("new/x")
    change = Change(place, None, Content(b"new"))

    assert files.unchanged(change)
    (work / "new").write_text("a file")
    assert not files.unchanged(change)
