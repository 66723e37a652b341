"""The disk that fails: which calls count, which of them fails, and that it is whole afterwards."""

import errno
import io
import os
import threading

import pytest
from tests.support.waiting import join_threads

from handrail.host.files.roots import Roots
from handrail.testing import SHORT, each_call, failing


def write(path, data=b"some bytes"):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def names(fault):
    return [one.split()[0] for one in fault.calls]


def test_each_call_of_what_was_done_fails_in_turn(tmp_path):
    failed = []
    for fault in each_call(tmp_path, errno.ENOSPC):
        with fault:
            try:
                write(tmp_path / "a")
            except OSError as error:
                assert error.errno == errno.ENOSPC
                assert error.filename == str(tmp_path / "a")
                failed.append(fault.calls[-1].split()[0])

    # When a write has failed, its descriptor is closed all the same, and that counts.
    assert failed == ["open", "close", "close", "close"]
    assert names(fault) == ["open", "write", "fsync", "close"]
    assert not fault.reached


def test_only_what_lies_beneath_counts(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "inside"
    inside.mkdir()
    outside.mkdir()

    with failing(inside, errno.EIO) as fault:
        write(outside / "a")
        with pytest.raises(OSError, match="Input/output"):
            write(inside / "a")

    assert names(fault) == ["open"]


def test_a_full_disk_can_be_read_and_a_broken_one_cannot(tmp_path):
    (tmp_path / "a").write_bytes(b"x")

    with failing(tmp_path, errno.ENOSPC):
        assert os.stat(tmp_path / "a").st_size == 1
        assert (tmp_path / "a").read_bytes() == b"x"
    with failing(tmp_path, errno.EIO), pytest.raises(OSError, match="Input/output"):
        os.stat(tmp_path / "a")
    with failing(tmp_path, errno.EIO), pytest.raises(OSError, match="Input/output"):
        (tmp_path / "a").read_bytes()


def test_a_lasting_fault_goes_on(tmp_path):
    with failing(tmp_path, errno.EDQUOT, call=2, lasting=True) as fault:
        os.mkdir(tmp_path / "a")
        for _ in range(3):
            with pytest.raises(OSError, match="quota"):
                os.mkdir(tmp_path / "b")

    assert (len(fault.calls), os.listdir(tmp_path)) == (4, ["a"])


@pytest.mark.parametrize(
    "do",
    [
        lambda fd: os.write(fd, b"0123456789"),
        lambda fd: os.writev(fd, [b"01234", b"56789"]),
        lambda fd: os.pwrite(fd, b"0123456789", 0),
        lambda fd: os.pwritev(fd, [b"01234", b"56789"], 0),
    ],
    ids=["write", "writev", "pwrite", "pwritev"],
)
def test_a_short_write_writes_half_and_says_so(tmp_path, do):
    with open(tmp_path / "a", "w+b") as file, failing(tmp_path, SHORT) as fault:
        assert do(file.fileno()) == 5

    assert (tmp_path / "a").read_bytes() == b"01234"
    assert fault.reached


def test_moves_count_at_both_ends_and_by_handle(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    write(tmp_path / "a")
    handle = os.open(inside, os.O_RDONLY)
    try:
        for move in ("rename", "link"):
            with failing(inside), pytest.raises(OSError, match="No space"):
                getattr(os, move)(tmp_path / "a", "a", dst_dir_fd=handle)
        with failing(inside), pytest.raises(OSError, match="No space"):
            os.symlink("anything", "b", dir_fd=handle)
    finally:
        os.close(handle)

    assert os.listdir(inside) == []


def test_a_failed_close_closes(tmp_path):
    descriptor = os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT)

    with failing(tmp_path, errno.EIO), pytest.raises(OSError, match="Input/output"):
        os.close(descriptor)

    with pytest.raises(OSError, match="Bad file"):
        os.fstat(descriptor)


def test_many_threads_meet_one_fault(tmp_path):
    caught = []

    def make(number):
        try:
            os.mkdir(tmp_path / str(number))
        except OSError as error:
            caught.append(error)

    with failing(tmp_path, errno.ENOSPC, call=30) as fault:
        threads = [threading.Thread(target=make, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            join_threads(thread)

    assert (len(fault.calls), len(caught), len(os.listdir(tmp_path))) == (50, 1, 49)


def test_everything_is_as_it_was_afterwards(tmp_path):
    before = {name: getattr(os, name) for name in dir(os)}, io.open
    roots = Roots([tmp_path], [])
    opener = roots.opener

    with pytest.raises(KeyError), failing(tmp_path):
        assert roots.opener is not opener
        raise KeyError

    assert ({name: getattr(os, name) for name in dir(os)}, io.open) == before
    assert roots.opener is opener
    roots.close()


def test_a_fault_says_which_call_it_was(tmp_path):
    with failing(tmp_path, errno.ENOSPC) as fault, pytest.raises(OSError, match="No space"):
        os.mkdir(tmp_path / "a")

    assert repr(fault) == f"<ENOSPC at call 1: mkdir {tmp_path / 'a'}>"
    assert repr(next(each_call(tmp_path, SHORT))) == "<short at call 1: not reached>"
