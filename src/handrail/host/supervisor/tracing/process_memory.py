"""Reads arguments of system calls from the memory of the process that makes them, and provides its
writable shared memory.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import cache
from typing import Final, NamedTuple

PREFIX: Final = b"/dev/shm/"
# Each costs the supervising process a descriptor.
_MOST_NAMES: Final = 256
_KEPT_FLAGS: Final = os.O_ACCMODE | os.O_TRUNC | os.O_APPEND | os.O_NONBLOCK
_CREATE_NEW: Final = os.O_CREAT | os.O_EXCL

_PAGE: Final = 4096
_AREA: Final = struct.Struct("@PN")


@cache
def load_libc() -> ctypes.CDLL:
    """The C library, loaded once: each load costs as much as several system calls."""
    return ctypes.CDLL(None, use_errno=True)


class ProcessMemory:
    """Reads strings and structures from the memory of other processes.

    A string is copied once per call: other threads of the process may change it at any time, and
    all decisions about a call must use the same text.
    """

    def __init__(self) -> None:
        self._call = load_libc().process_vm_readv
        self._buffer = ctypes.create_string_buffer(_PAGE)
        self._copies: dict[tuple[int, int], bytes | None] = {}

    def forget(self) -> None:
        """Drop the copies; called before each system call."""
        self._copies.clear()

    def text(self, pid: int, address: int) -> bytes | None:
        """Return the bytes up to the next NUL; None if the address is not readable for the kernel
        either. Raises PermissionError if reading is not allowed.
        """
        key = pid, address
        if key not in self._copies:
            self._copies[key] = self._text(pid, address)
        return self._copies[key]

    def read(self, pid: int, address: int, size: int) -> bytes:
        """Return exactly `size` bytes. Raises OSError: EFAULT or PermissionError."""
        buffer = ctypes.create_string_buffer(size)
        if size and self._copy(pid, address, buffer, size) != size:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        return buffer.raw[:size]

    def _text(self, pid: int, address: int) -> bytes | None:
        text = b""
        while len(text) <= _PAGE:
            # Never across a page boundary: the next page may be unmapped.
            got = self._copy(pid, address, self._buffer, _PAGE - address % _PAGE)
            if got <= 0:
                return None
            part, zero, _ = self._buffer.raw[:got].partition(b"\0")
            text += part
            if zero:
                return text
            address += got
        return None

    def _copy(self, pid: int, address: int, buffer: ctypes.Array[ctypes.c_char], size: int) -> int:
        local = _AREA.pack(ctypes.addressof(buffer), size)
        got: int = self._call(pid, local, 1, _AREA.pack(address, size), 1, 0)
        if got < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        return got


class SharedMemoryCall(NamedTuple):
    """A call that may name shared memory, described by the indexes of its arguments (-1: it has
    none). A call with two paths links, one with a mode opens (as `creat` if it has no flags), the
    others unlink.
    """

    paths: tuple[int, ...]
    flags: int = -1
    mode: int = -1


SHARED_MEMORY_CALLS: Final = {
    "x86_64": {
        2: SharedMemoryCall((0,), flags=1, mode=2),
        257: SharedMemoryCall((1,), flags=2, mode=3),
        85: SharedMemoryCall((0,), mode=1),
        87: SharedMemoryCall((0,)),
        263: SharedMemoryCall((1,)),
        86: SharedMemoryCall((0, 1)),
        265: SharedMemoryCall((1, 3)),
    },
    "aarch64": {
        56: SharedMemoryCall((1,), flags=2, mode=3),
        35: SharedMemoryCall((1,)),
        37: SharedMemoryCall((1, 3)),
    },
}


class PrivateSharedMemory:
    """The named memory files of one program. All methods raise OSError as the kernel would."""

    def __init__(self) -> None:
        self._files: dict[bytes, int] = {}

    def open(self, path: bytes, flags: int, mode: int) -> int:
        """Return a new handle of a memory file."""
        name = _name(path)
        file = self._files.get(name)
        if file is not None:
            if flags & _CREATE_NEW == _CREATE_NEW:
                raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
            return _reopen(file, flags)
        if not flags & os.O_CREAT:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        self._check_room()
        file = os.memfd_create("handrail-shm", os.MFD_CLOEXEC)
        try:
            opened = _reopen(file, flags)
            os.fchmod(file, mode & 0o777)
        except OSError:
            os.close(file)
            raise
        self._files[name] = file
        return opened

    def unlink(self, path: bytes) -> None:
        """Remove a name; open handles stay valid."""
        try:
            os.close(self._files.pop(_name(path)))
        except KeyError:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT)) from None

    def link(self, old: bytes, new: bytes) -> None:
        """Give a memory file a second name."""
        if not (old.startswith(PREFIX) and new.startswith(PREFIX)):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        source, target = _name(old), _name(new)
        if source not in self._files:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        if target in self._files:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        self._check_room()
        self._files[target] = os.dup(self._files[source])

    def close(self) -> None:
        """Forget all names."""
        while self._files:
            os.close(self._files.popitem()[1])

    def _check_room(self) -> None:
        if len(self._files) >= _MOST_NAMES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _name(path: bytes) -> bytes:
    name = path[len(PREFIX) :].strip(b"/")
    # Shared memory has no directories and cannot be listed.
    if name in (b"", b".", b"..") or b"/" in name:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    return name


def _reopen(file: int, flags: int) -> int:
    if flags & os.O_DIRECTORY:
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return os.open(b"/proc/self/fd/%d" % file, flags & _KEPT_FLAGS | os.O_CLOEXEC)
