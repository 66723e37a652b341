"""Memory of other processes, and the shared memory that a confined program has for itself."""

import ctypes
import errno
import mmap
import os
import stat

import pytest
from tests.support.handles import open_handles

from handrail.host.supervisor.tracing import process_memory
from handrail.host.supervisor.tracing.process_memory import (
    PREFIX,
    PrivateSharedMemory,
    ProcessMemory,
)

CREATE = os.O_RDWR | os.O_CREAT
PAGE = mmap.PAGESIZE


def code(act, *given):
    with pytest.raises(OSError) as caught:
        act(*given)
    return caught.value.errno


@pytest.fixture
def shared():
    before = open_handles()
    shared = PrivateSharedMemory()
    yield shared
    shared.close()
    assert open_handles() == before


def opened(shared, name, flags=CREATE, mode=0o600):
    """Open, close, and return the identity of the file."""
    handle = shared.open(PREFIX + name, flags, mode)
    try:
        return os.fstat(handle).st_ino
    finally:
        os.close(handle)


def test_a_name_leads_to_the_same_memory_until_it_is_removed(shared):
    first = shared.open(PREFIX + b"one", CREATE, 0o640)
    os.write(first, b"data")
    again = shared.open(PREFIX + b"one", os.O_RDONLY, 0)

    assert os.read(again, 10) == b"data"
    assert stat.S_IMODE(os.fstat(first).st_mode) == 0o640
    assert not os.get_inheritable(again)
    shared.unlink(PREFIX + b"one")
    assert code(shared.open, PREFIX + b"one", os.O_RDWR, 0) == errno.ENOENT
    assert os.pread(first, 10, 0) == b"data"
    for handle in (first, again):
        os.close(handle)


def test_names_are_apart(shared):
    assert opened(shared, b"one") != opened(shared, b"two")
    assert opened(shared, b"one") == opened(shared, b"/one")


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (os.O_RDWR, None),
        (CREATE, None),
        (CREATE | os.O_EXCL, errno.EEXIST),
        (os.O_RDWR | os.O_EXCL, None),
        (os.O_RDONLY | os.O_DIRECTORY, errno.ENOTDIR),
    ],
)
def test_a_name_that_exists(shared, flags, error):
    opened(shared, b"one")

    if error is None:
        opened(shared, b"one", flags)
    else:
        assert code(shared.open, PREFIX + b"one", flags, 0) == error


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (os.O_RDWR, errno.ENOENT),
        (CREATE | os.O_EXCL, None),
        (CREATE | os.O_DIRECTORY, errno.ENOTDIR),
    ],
)
def test_a_name_that_does_not_exist(shared, flags, error):
    if error is None:
        opened(shared, b"one", flags)
    else:
        assert code(shared.open, PREFIX + b"one", flags, 0o600) == error
        assert code(shared.unlink, PREFIX + b"one") == errno.ENOENT


@pytest.mark.parametrize("name", [b"", b"/", b".", b"..", b"a/b"])
def test_there_are_no_directories(shared, name):
    assert code(shared.open, PREFIX + name, CREATE, 0o600) == errno.EACCES
    assert code(shared.unlink, PREFIX + name) == errno.EACCES


def test_a_second_name_is_the_same_memory(shared):
    one = opened(shared, b"one")
    shared.link(PREFIX + b"one", PREFIX + b"two")

    assert opened(shared, b"two") == one
    shared.unlink(PREFIX + b"one")
    assert opened(shared, b"two", os.O_RDWR) == one
    assert code(shared.link, PREFIX + b"one", PREFIX + b"three") == errno.ENOENT
    opened(shared, b"three")
    assert code(shared.link, PREFIX + b"two", PREFIX + b"three") == errno.EEXIST
    assert code(shared.link, PREFIX + b"two", b"/w/file") == errno.EXDEV
    assert code(shared.link, b"/w/file", PREFIX + b"four") == errno.EXDEV


def test_a_program_has_a_limited_number_of_names(shared, monkeypatch):
    monkeypatch.setattr(process_memory, "_MOST_NAMES", 2)
    opened(shared, b"one")
    opened(shared, b"two")

    assert code(shared.open, PREFIX + b"three", CREATE, 0o600) == errno.ENOSPC
    assert code(shared.link, PREFIX + b"one", PREFIX + b"three") == errno.ENOSPC
    shared.unlink(PREFIX + b"one")
    opened(shared, b"three")


class TestProcessMemory:
    @pytest.fixture
    def area(self):
        """Three pages of this process, and their address."""
        area = mmap.mmap(-1, 3 * PAGE)
        view = (ctypes.c_char * len(area)).from_buffer(area)
        yield area, ctypes.addressof(view)
        del view
        area.close()

    def test_exactly_so_many_bytes_are_read(self, area):
        memory, address = ProcessMemory(), area[1]
        area[0][:5] = b"hello"

        assert memory.read(os.getpid(), address, 5) == b"hello"
        assert memory.read(os.getpid(), address + 1, 2) == b"el"
        assert memory.read(os.getpid(), address, 0) == b""
        assert code(memory.read, os.getpid(), 8, 4) == errno.EFAULT

    @pytest.mark.parametrize(
        ("start", "text", "found"),
        [
            (0, b"path\0more", b"path"),
            (0, b"\0", b""),
            (PAGE - 3, b"across pages\0", b"across pages"),
            (0, b"x" * (PAGE - 1) + b"\0", b"x" * (PAGE - 1)),
            (0, b"x" * PAGE + b"\0", b"x" * PAGE),
            (0, b"x" * (3 * PAGE), None),
        ],
    )
    def test_a_text_ends_at_its_zero(self, area, start, text, found):
        memory, address = ProcessMemory(), area[1]
        area[0][start : start + len(text)] = text

        assert memory.text(os.getpid(), address + start) == found

    def test_an_address_that_is_not_mapped_has_no_text(self):
        assert ProcessMemory().text(os.getpid(), 8) is None

    def test_a_text_is_read_once_until_it_is_forgotten(self, area):
        memory, address = ProcessMemory(), area[1]
        area[0][:4] = b"one\0"
        assert memory.text(os.getpid(), address) == b"one"
        area[0][:4] = b"two\0"

        assert memory.text(os.getpid(), address) == b"one"
        memory.forget()
        assert memory.text(os.getpid(), address) == b"two"
