"""Reads arguments of system calls from the memory of the process that makes them."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import cache
from typing import Final

_PAGE: Final = 4096
_AREA: Final = struct.Struct("@PN")


@cache
def load_libc() -> ctypes.CDLL:
    """The C library, loaded once: each load costs as much as several system calls."""
    return ctypes.CDLL(None, use_errno=True)


class ProcessMemory:
    """Reads strings and structures from the memory of other processes.

    A string is copied once for each call: other threads of the process may change it at any time,
    and all decisions about a call must be about the same text.
    """

    def __init__(self) -> None:
        self._call = load_libc().process_vm_readv
        self._buffer = ctypes.create_string_buffer(_PAGE)
        self._copies: dict[tuple[int, int], bytes | None] = {}

    def forget(self) -> None:
        """Drop the copies; called for each system call."""
        self._copies.clear()

    def text(self, pid: int, address: int) -> bytes | None:
        """The bytes up to the next NUL; None if the address is not readable, as it is for the
        kernel. Raises PermissionError if reading is not allowed.
        """
        key = pid, address
        if key not in self._copies:
            self._copies[key] = self._text(pid, address)
        return self._copies[key]

    def read(self, pid: int, address: int, size: int) -> bytes:
        """Exactly `size` bytes. Raises OSError: EFAULT if they are not readable, PermissionError
        if reading is not allowed.
        """
        buffer = ctypes.create_string_buffer(size)
        if size and self._copy(pid, address, buffer, size) != size:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        return buffer.raw[:size]

    def _text(self, pid: int, address: int) -> bytes | None:
        text = b""
        while len(text) <= _PAGE:
            # Not across a page boundary: the next page may be unmapped.
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
