"""Which folder stands at a path: one made anew is another, one that was moved is the same."""

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
    """A word for the folder itself. The inode alone is used again for the next folder, so
    its time of birth belongs to it, where the file system keeps one. The device does not:
    it may be numbered anew when the machine starts. Empty if nothing stands there.
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
    """The C library's function; None where it has none."""
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
