"""Renames within one directory that never lose a file: to a free name, or by exchange."""

from __future__ import annotations

import ctypes
import errno
import os
from contextlib import suppress
from functools import cache
from typing import Any, Final

_NOREPLACE: Final = 1
_EXCHANGE: Final = 2
_UNSUPPORTED: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def rename_new(handle: int, source: str, target: str) -> None:
    """Rename, failing with FileExistsError if the target exists."""
    if _renameat2(handle, source, target, _NOREPLACE):
        return
    # Linking fails if the name exists; a plain rename does not.
    try:
        os.link(source, target, src_dir_fd=handle, dst_dir_fd=handle, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # No hard links here either; the caller has just checked the target.
        os.rename(source, target, src_dir_fd=handle, dst_dir_fd=handle)
    else:
        try:
            os.unlink(source, dir_fd=handle)
        except OSError:
            # It must not keep two names; the caller checks whether this one was removed.
            with suppress(OSError):
                os.unlink(target, dir_fd=handle)
            raise


def exchange(handle: int, one: str, two: str) -> bool:
    """Exchange the names of two files atomically; False if the file system cannot."""
    return _renameat2(handle, one, two, _EXCHANGE)


def _renameat2(handle: int, source: str, target: str, flags: int) -> bool:
    call = _system_call()
    if call is None:
        return False
    if call(handle, os.fsencode(source), handle, os.fsencode(target), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code))


@cache
def _system_call() -> Any:
    """The C library's renameat2; None if it has none."""
    call: Any = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        call.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_uint,
        )
    return call
