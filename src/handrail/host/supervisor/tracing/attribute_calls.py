"""The system calls that change a file's mode, owner, times or attributes, which Landlock does not
restrict: where each call names its file, and how the call is made for another process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, NamedTuple

from handrail.host.supervisor.tracing.process_memory import ProcessMemory, load_libc

# Makes a change to the file at a path.
Change = Callable[[bytes], None]

_HERE: Final = -100
_SYS_FILE_SETATTR: Final = 469
_MODE_BITS: Final = 0o7777
_NOBODY: Final = 0xFFFFFFFF
_MOST_VALUE: Final = 1 << 16
_MOST_ATTRIBUTES: Final = 4096
_SET_XATTR: Final = struct.Struct("=QII")
_TWO_PAIRS: Final = struct.Struct("=4q")
_PAIR: Final = struct.Struct("=2q")
_MICROSECONDS: Final = 1_000_000


class ChangeKind(Enum):
    """What a call changes, and in which form its values are passed."""

    MODE = "mode"
    OWNER = "owner"
    # Times as seconds, with microseconds, with nanoseconds.
    SECONDS = "seconds"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"
    SET_XATTR = "set xattr"
    SET_XATTR_AT = "set xattr at"
    REMOVE_XATTR = "remove xattr"
    FILE_ATTRIBUTES = "file attributes"


class AttributeCall(NamedTuple):
    """A call, described by the indexes of its arguments (-1: it has none). `values` is the index of
    the first value. The file is `path` relative to `directory`; a call without a path changes the
    open file `directory`.
    """

    kind: ChangeKind
    values: int
    path: int = -1
    directory: int = -1
    flags: int = -1
    # Whether a final link is followed, unless the flags say otherwise.
    follows: bool = True


_FCHMODAT: Final = AttributeCall(ChangeKind.MODE, 2, path=1, directory=0)
_FCHMOD: Final = AttributeCall(ChangeKind.MODE, 1, directory=0)
_FCHOWNAT: Final = AttributeCall(ChangeKind.OWNER, 2, path=1, directory=0, flags=4)
_FCHOWN: Final = AttributeCall(ChangeKind.OWNER, 1, directory=0)
_UTIMENSAT: Final = AttributeCall(ChangeKind.NANOSECONDS, 2, path=1, directory=0, flags=3)
_SETXATTR: Final = AttributeCall(ChangeKind.SET_XATTR, 1, path=0)
_REMOVEXATTR: Final = AttributeCall(ChangeKind.REMOVE_XATTR, 1, path=0)


def _xattr_calls(first: int, removing: int) -> dict[int, AttributeCall]:
    """Return the calls by path, by path without following a link, and by open file."""
    found: dict[int, AttributeCall] = {}
    for number, call in ((first, _SETXATTR), (removing, _REMOVEXATTR)):
        found[number] = call
        found[number + 1] = call._replace(follows=False)
        found[number + 2] = call._replace(path=-1, directory=0)
    return found


# fchmodat2, setxattrat, removexattrat, file_setattr: equal on all machines.
_SHARED: Final = {
    452: _FCHMODAT._replace(flags=3),
    463: AttributeCall(ChangeKind.SET_XATTR_AT, 3, path=1, directory=0, flags=2),
    466: AttributeCall(ChangeKind.REMOVE_XATTR, 3, path=1, directory=0, flags=2),
    _SYS_FILE_SETATTR: AttributeCall(ChangeKind.FILE_ATTRIBUTES, 2, path=1, directory=0, flags=4),
}
ATTRIBUTE_CALLS: Final[dict[str, dict[int, AttributeCall]]] = {
    "x86_64": {
        90: AttributeCall(ChangeKind.MODE, 1, path=0),
        91: _FCHMOD,
        268: _FCHMODAT,
        92: AttributeCall(ChangeKind.OWNER, 1, path=0),
        93: _FCHOWN,
        94: AttributeCall(ChangeKind.OWNER, 1, path=0, follows=False),
        260: _FCHOWNAT,
        132: AttributeCall(ChangeKind.SECONDS, 1, path=0),
        235: AttributeCall(ChangeKind.MICROSECONDS, 1, path=0),
        261: AttributeCall(ChangeKind.MICROSECONDS, 2, path=1, directory=0),
        280: _UTIMENSAT,
        **_xattr_calls(188, 197),
        **_SHARED,
    },
    "aarch64": {
        52: _FCHMOD,
        53: _FCHMODAT,
        54: _FCHOWNAT,
        55: _FCHOWN,
        88: _UTIMENSAT,
        **_xattr_calls(5, 14),
        **_SHARED,
    },
}


class ChangeReader:
    """Copies the values of a call from its process, once."""

    def __init__(self, memory: ProcessMemory) -> None:
        self._memory = memory
        self._libc = load_libc()

    def read(self, pid: int, call: AttributeCall, arguments: Sequence[int]) -> Change:
        """Return the change that a call makes. Raises OSError if its values are invalid."""
        values = arguments[call.values :]
        match call.kind:
            case ChangeKind.MODE:
                return lambda path: os.chmod(path, values[0] & _MODE_BITS)  # noqa: PTH101
            case ChangeKind.OWNER:
                user, group = _identity(values[0]), _identity(values[1])
                return lambda path: os.chown(path, user, group)
            case ChangeKind.SECONDS | ChangeKind.MICROSECONDS | ChangeKind.NANOSECONDS:
                times = self._times(pid, call.kind, values[0])
                return lambda path: self._check(self._libc.utimensat(_HERE, path, times, 0))
            case ChangeKind.FILE_ATTRIBUTES:
                return self._file_attributes(pid, values[0], values[1])
            case _:
                return self._xattr(pid, call.kind, values)

    def _times(self, pid: int, kind: ChangeKind, address: int) -> bytes | None:
        """Return two `timespec`; None means the current time."""
        if not address:
            return None
        if kind is ChangeKind.SECONDS:
            accessed, modified = _PAIR.unpack(self._memory.read(pid, address, _PAIR.size))
            return _TWO_PAIRS.pack(accessed, 0, modified, 0)
        times = self._memory.read(pid, address, _TWO_PAIRS.size)
        if kind is ChangeKind.NANOSECONDS:
            return times
        accessed, accessed_us, modified, modified_us = _TWO_PAIRS.unpack(times)
        if not (0 <= accessed_us < _MICROSECONDS and 0 <= modified_us < _MICROSECONDS):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return _TWO_PAIRS.pack(accessed, accessed_us * 1000, modified, modified_us * 1000)

    def _xattr(self, pid: int, kind: ChangeKind, values: Sequence[int]) -> Change:
        name = self._memory.text(pid, values[0])
        if name is None:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        if kind is ChangeKind.REMOVE_XATTR:
            return lambda path: os.removexattr(path, name)
        address, size, *rest = values[1:]
        if kind is ChangeKind.SET_XATTR_AT:
            if size != _SET_XATTR.size:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            address, size, *rest = _SET_XATTR.unpack(self._memory.read(pid, address, size))
        if size > _MOST_VALUE:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        value = self._memory.read(pid, address, size)
        return lambda path: os.setxattr(path, name, value, rest[0] & _NOBODY)

    def _file_attributes(self, pid: int, address: int, size: int) -> Change:
        if size > _MOST_ATTRIBUTES:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        copied = self._memory.read(pid, address, size)

        def change(path: bytes) -> None:
            number, count = ctypes.c_long(_SYS_FILE_SETATTR), ctypes.c_size_t(size)
            self._check(self._libc.syscall(number, _HERE, path, copied, count, 0))

        return change

    @staticmethod
    def _check(result: int) -> None:
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _identity(argument: int) -> int:
    """Return a user or group; -1 means unchanged."""
    number = argument & 0xFFFFFFFF
    return -1 if number == _NOBODY else number
