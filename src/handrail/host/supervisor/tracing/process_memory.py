"""Reads arguments of system calls from the memory of the process that makes them."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Final

_PAGE: Final = 4096


class ProcessMemory:
    """Reads strings from the memory of other processes."""

    def __init__(self) -> None:
        self._call = ctypes.CDLL(None, use_errno=True).process_vm_readv
        self._buffer = ctypes.create_string_buffer(_PAGE)

    def text(self, pid: int, address: int) -> bytes | None:
        """The bytes up to the next NUL; None if the address is not readable, as it is for the
        kernel. Raises PermissionError if reading is not allowed.
        """
        text = b""
        while len(text) <= _PAGE:
            # Not across a page boundary: the next page may be unmapped.
            count = _PAGE - address % _PAGE
            local = struct.pack("@PN", ctypes.addressof(self._buffer), count)
            remote = struct.pack("@PN", address, count)
            got = self._call(pid, local, 1, remote, 1, 0)
            if got <= 0:
                if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
                    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
                return None
            part, zero, _ = self._buffer.raw[:got].partition(b"\0")
            text += part
            if zero:
                return text
            address += got
        return None
