"""Identifies a directory independently of its path: it survives a move, but a new directory
differs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

_AT_FDCWD: Final = -100
_BIRTH: Final = 0x800
# struct statx: 256 bytes; stx_mask at 0, stx_btime (seconds, nanoseconds) at 80.
_SIZE: Final = 256
_SECONDS: Final = 80
_NANOSECONDS: Final = 88


def folder_identity(path: str) -> str:
    """An identifier of the directory; "" if there is none. It consists of the inode, which is
    reused, and the time of birth where the file system keeps one; not of the device, whose number
    can change at boot.
    """
    try:
        info = Path(path).stat()
    except OSError:
        return ""
    born = getattr(info, "st_birthtime", None) or _birth(os.fsencode(path))
    return f"{info.st_ino}" if born is None else f"{info.st_ino}.{born}"


def _birth(path: bytes) -> str | None:
    statx = _statx()
    if statx is None:
        return None
    found = ctypes.create_string_buffer(_SIZE)
    if statx(_AT_FDCWD, path, 0, _BIRTH, found) != 0:
        return None
    raw = memoryview(found).cast("B")
    if not int.from_bytes(raw[:4], sys.byteorder) & _BIRTH:
        return None
    seconds = int.from_bytes(raw[_SECONDS : _SECONDS + 8], sys.byteorder, signed=True)
    return f"{seconds}.{int.from_bytes(raw[_NANOSECONDS : _NANOSECONDS + 4], sys.byteorder)}"


@cache
def _statx() -> Any:
    """The C library's statx; None if it has none."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    if function is not None:
        function.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_void_p,
        )
    return function
