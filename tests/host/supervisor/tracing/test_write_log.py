"""The log of traced writes: which paths are logged, and when it gives up."""

import json
import os
from types import SimpleNamespace

import pytest

from handrail.host.supervisor.tracing import write_log
from handrail.host.supervisor.tracing.traced_syscalls import PathArgument, TracedSyscall
from handrail.host.supervisor.tracing.write_log import WriteLog

pytestmark = pytest.mark.usefixtures("no_open_files")

OPEN, RENAME, AT, HANDLE, FOLLOWS = range(5)
CALLS = {
    OPEN: TracedSyscall((PathArgument(0),)),
    RENAME: TracedSyscall((PathArgument(0), PathArgument(1)), moves=True),
    AT: TracedSyscall((PathArgument(1, 0),)),
    HANDLE: TracedSyscall((PathArgument(0, handle=True),)),
    FOLLOWS: TracedSyscall((PathArgument(0, follows=True),)),
}
MISSING = 999


class KnownMemory:
    """Texts by number."""

    def __init__(self):
        self.texts = {}

    def put(self, text):
        self.texts[len(self.texts)] = os.fsencode(text)
        return len(self.texts) - 1

    def text(self, pid, address):
        if address == 5000:
            raise PermissionError
        return self.texts.get(address)


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(write_log, "TRACED_SYSCALLS", {os.uname().machine: CALLS})
    work = tmp_path / "work"
    work.mkdir()
    memory = KnownMemory()
    made = WriteLog(str(tmp_path / "log"), memory)

    def note(number, *texts):
        arguments = [one if isinstance(one, int) else memory.put(one) for one in texts]
        made.note(os.getpid(), number, arguments)

    def lines():
        made.flush()
        return [json.loads(one) for one in (tmp_path / "log").read_text().splitlines()]

    yield SimpleNamespace(log=made, note=note, lines=lines, work=work, path=tmp_path / "log")
    made.close()


def test_a_path_is_logged_once_with_what_was_there(log):
    (log.work / "a").write_text("12345")
    os.utime(log.work / "a", ns=(1, 777))
    for path in ("a", "new", "a"):
        log.note(OPEN, f"{log.work}/{path}")

    assert log.lines() == [[f"{log.work}/a", [5, 777]], [f"{log.work}/new", None]]
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_links_in_directories_are_followed_and_the_last_one_if_the_call_does(log):
    (log.work / "real").mkdir()
    (log.work / "real" / "f").write_text("")
    (log.work / "link").symlink_to("real")
    (log.work / "last").symlink_to("real/f")
    log.note(OPEN, f"{log.work}/link/f")
    log.note(OPEN, f"{log.work}/last")
    log.note(FOLLOWS, f"{log.work}/last")
    log.note(FOLLOWS, f"{log.work}/real/g")
    log.note(OPEN, f"{log.work}/link/..")

    paths = [os.path.relpath(one[0], log.work) for one in log.lines()]
    assert paths == ["real/f", "last", "real/g", "."]


def test_a_relative_path_begins_at_a_directory(log, monkeypatch):
    monkeypatch.chdir(log.work)
    handle = os.open(log.work.parent, os.O_RDONLY)
    try:
        log.note(OPEN, "a")
        log.note(AT, 2**64 - 100, "b")
        log.note(AT, handle, "c")
        log.note(AT, handle, "")
        log.note(AT, 12345, "none")
    finally:
        os.close(handle)

    above = str(log.work.parent)
    assert [one[0] for one in log.lines()] == [
        f"{log.work}/a",
        f"{log.work}/b",
        f"{above}/c",
        above,
    ]


def test_an_open_file_is_logged_by_its_path(log):
    (log.work / "a").write_text("x")
    handle = os.open(log.work / "a", os.O_RDONLY)
    try:
        log.note(HANDLE, handle)
        log.note(HANDLE, 12345)
    finally:
        os.close(handle)

    assert [one[0] for one in log.lines()] == [f"{log.work}/a"]


def test_a_moved_directory_stands_for_everything_below(log):
    (log.work / "d").mkdir()
    (log.work / "f").write_text("")
    log.note(RENAME, f"{log.work}/f", f"{log.work}/g")
    log.note(RENAME, f"{log.work}/d", f"{log.work}/e")
    log.note(RENAME, f"{log.work}/d", f"{log.work}/e")

    lines = log.lines()
    assert [one[0] for one in lines[:2]] == [f"{log.work}/f", f"{log.work}/g"]
    assert sorted(one[0] for one in lines if len(one) == 1) == [f"{log.work}/d", f"{log.work}/e"]
    assert len(lines) == 6


def test_after_a_rename_directories_are_resolved_again(log):
    (log.work / "one").mkdir()
    (log.work / "two").mkdir()
    (log.work / "link").symlink_to("one")
    log.note(OPEN, f"{log.work}/link/a")
    (log.work / "link").unlink()
    (log.work / "link").symlink_to("two")
    log.note(OPEN, f"{log.work}/link/b")
    log.note(RENAME, f"{log.work}/x", f"{log.work}/y")
    log.note(OPEN, f"{log.work}/link/c")

    paths = [os.path.relpath(one[0], log.work) for one in log.lines()]
    assert paths == ["one/a", "one/b", "x", "y", "two/c"]


def test_a_process_that_cannot_be_read_makes_the_log_incomplete(log):
    log.note(OPEN, MISSING)
    assert log.lines() == []
    log.note(OPEN, 5000)
    log.note(OPEN, f"{log.work}/a")

    assert log.lines() == [None]


def test_other_calls_are_not_logged(log):
    log.note(77, f"{log.work}/a")

    assert log.lines() == []


def test_the_log_is_limited(log, monkeypatch):
    monkeypatch.setattr(write_log, "_MOST", 2)
    for at in range(6):
        log.note(OPEN, f"{log.work}/{at}")

    assert len(log.lines()) == 3


def test_the_bytes_of_the_log_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(write_log, "TRACED_SYSCALLS", {os.uname().machine: CALLS})
    monkeypatch.setattr(write_log, "_MOST_BYTES", 30)
    memory = KnownMemory()
    made = WriteLog(str(tmp_path / "log"), memory)
    for at in range(9):
        made.note(os.getpid(), OPEN, [memory.put(f"/nowhere/{at}")])
    made.close()

    assert len((tmp_path / "log").read_text().splitlines()) == 2


def test_many_lines_are_written_before_the_end(log):
    for at in range(256):
        log.note(OPEN, f"{log.work}/{at}")

    assert len(log.path.read_text().splitlines()) == 256
