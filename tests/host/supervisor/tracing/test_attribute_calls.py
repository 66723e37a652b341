"""Changes of modes, owners, times and attributes, made for another process."""

import errno
import os
import stat
import struct

import pytest

from handrail.host.supervisor.tracing.attribute_calls import (
    ATTRIBUTE_CALLS,
    AttributeCall,
    ChangeKind,
    ChangeReader,
)


class KnownMemory:
    """The memory of a process: bytes at addresses."""

    def __init__(self, **places):
        self.places = {int(name[1:]): data for name, data in places.items()}

    def read(self, pid, address, size):
        return self.places[address][:size]

    def text(self, pid, address):
        return self.places.get(address)


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "file"
    made.write_text("x")
    return made


def change(path, kind, *values, **places):
    call = AttributeCall(kind, 1, path=0)
    made = ChangeReader(KnownMemory(**places)).read(1, call, [0, *values])
    made(os.fsencode(path))


def test_a_mode_is_changed(path):
    change(path, ChangeKind.MODE, 0o170640)

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_an_owner_of_minus_one_stays(path):
    before = path.stat()
    change(path, ChangeKind.OWNER, 0xFFFFFFFF, 2**64 - 1)

    assert (path.stat().st_uid, path.stat().st_gid) == (before.st_uid, before.st_gid)


def test_an_owner_is_passed_on(path, monkeypatch):
    made = []
    monkeypatch.setattr(os, "chown", lambda *words: made.append(words))
    change(path, ChangeKind.OWNER, 5, (1 << 32) + 6)

    assert made == [(os.fsencode(path), 5, 6)]


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        (ChangeKind.SECONDS, struct.pack("=2q", 11, 12), (11 * 10**9, 12 * 10**9)),
        (
            ChangeKind.MICROSECONDS,
            struct.pack("=4q", 11, 5, 12, 999_999),
            (11_000_005_000, 12_999_999_000),
        ),
        (ChangeKind.MICROSECONDS, struct.pack("=4q", 11, 0, 12, 0), (11 * 10**9, 12 * 10**9)),
        (
            ChangeKind.NANOSECONDS,
            struct.pack("=4q", 11, 5, 12, 7),
            (11_000_000_005, 12_000_000_007),
        ),
    ],
)
def test_times_are_changed(path, kind, data, expected):
    change(path, kind, 64, p64=data)

    assert (path.stat().st_atime_ns, path.stat().st_mtime_ns) == expected


def test_without_times_the_current_time_is_set(path):
    os.utime(path, (1, 1))
    change(path, ChangeKind.NANOSECONDS, 0)

    assert path.stat().st_mtime > 1_000_000_000


@pytest.mark.parametrize(
    "numbers", [(1, 1_000_000, 1, 0), (1, 0, 1, -1), (1, -1, 1, 0), (1, 0, 1, 10**6)]
)
def test_microseconds_beyond_a_second_are_invalid(path, numbers):
    with pytest.raises(OSError) as raised:
        change(path, ChangeKind.MICROSECONDS, 64, p64=struct.pack("=4q", *numbers))

    assert raised.value.errno == errno.EINVAL


def test_invalid_times_are_an_error(path):
    with pytest.raises(OSError):
        change(path, ChangeKind.NANOSECONDS, 64, p64=struct.pack("=4q", 1, 10**10, 1, 0))


@pytest.fixture
def attributes(monkeypatch):
    """The attributes that are set and removed."""
    made = []
    monkeypatch.setattr(os, "setxattr", lambda *words: made.append(words[1:]))
    monkeypatch.setattr(os, "removexattr", lambda *words: made.append(words[1:]))
    return made


def test_attributes_are_set_and_removed(path, attributes):
    change(path, ChangeKind.SET_XATTR, 10, 20, 3, (1 << 32) + 2, p10=b"user.a", p20=b"value")
    change(path, ChangeKind.REMOVE_XATTR, 10, p10=b"user.a")
    arguments = struct.pack("=QII", 20, 5, 1)
    change(path, ChangeKind.SET_XATTR_AT, 10, 30, 16, p10=b"user.b", p20=b"value", p30=arguments)

    assert attributes == [(b"user.a", b"val", 2), (b"user.a",), (b"user.b", b"value", 1)]


def test_the_largest_value_is_set(path, attributes):
    change(path, ChangeKind.SET_XATTR, 10, 20, 1 << 16, 0, p10=b"user.a", p20=b"x" * (1 << 16))

    assert len(attributes[0][1]) == 1 << 16


@pytest.mark.parametrize(
    ("kind", "values", "code"),
    [
        (ChangeKind.SET_XATTR, (99, 20, 3, 0), errno.EFAULT),
        (ChangeKind.REMOVE_XATTR, (99,), errno.EFAULT),
        (ChangeKind.SET_XATTR, (10, 20, (1 << 16) + 1, 0), errno.E2BIG),
        (ChangeKind.SET_XATTR_AT, (10, 20, 15), errno.EINVAL),
        (ChangeKind.SET_XATTR_AT, (10, 20, 17), errno.EINVAL),
        (ChangeKind.FILE_ATTRIBUTES, (20, 4097), errno.E2BIG),
    ],
)
def test_invalid_values_are_refused(path, attributes, kind, values, code):
    with pytest.raises(OSError) as raised:
        change(path, kind, *values, p10=b"user.a", p20=b"value")

    assert raised.value.errno == code
    assert attributes == []


def test_calls_by_link_and_by_open_file_are_known():
    calls = ATTRIBUTE_CALLS["x86_64"]

    assert [calls[number].follows for number in (188, 189, 190, 197, 198, 199)] == [
        True,
        False,
        True,
    ] * 2
    assert [calls[number].path for number in (188, 189, 190, 197, 198, 199)] == [0, 0, -1] * 2
    assert (calls[190].directory, calls[188].directory) == (0, -1)
    assert calls[188].kind is ChangeKind.SET_XATTR
    assert calls[197].kind is ChangeKind.REMOVE_XATTR
