"""Opens a path beneath a directory handle without following any link.

Uses openat2 where the kernel has it, else, and for a single name, one O_NOFOLLOW open per name. A
workspace path reaches the kernel only through here, or as a single name beneath an open handle.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from typing import Any, Final

Opener = Callable[[int, bytes, int], int]

# Without O_PATH (macOS) a plain open is used; O_NONBLOCK keeps a FIFO from blocking it.
LOOK: Final = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC
LOOK_IN: Final = LOOK | os.O_DIRECTORY
READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_SYS_OPENAT2: Final = 437
_NO_MAGICLINKS: Final = 0x02
_NO_SYMLINKS: Final = 0x04
_BENEATH: Final = 0x08
_TRIES: Final = 100
_DOTS: Final = (b"", b".", b"..")
# With these flags, O_NOFOLLOW opens a final link itself, or reports ENOTDIR.
_ODD_WITH_NOFOLLOW: Final = LOOK_IN & ~os.O_CLOEXEC


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def choose_opener() -> Opener:
    """The best opener of this machine: `opener(handle, path, flags)` returns a descriptor.

    Raises OSError: ELOOP for any link in the path, EXDEV for a path that leads up.
    """
    return kernel_opener() if kernel_has_openat2() else walk_beneath


def kernel_has_openat2() -> bool:
    """Whether openat2 works here; old kernels and strict seccomp profiles lack it."""
    if not hasattr(os, "O_PATH"):
        return False
    handle = os.open("/", LOOK_IN)
    try:
        os.close(kernel_opener()(handle, b".", LOOK_IN))
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def kernel_opener() -> Opener:
    """An opener that asks the kernel to stay beneath the handle."""
    call: Any = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
    )
    size = ctypes.sizeof(_OpenHow)
    hows: dict[int, _OpenHow] = {}
    addresses: dict[int, int] = {}

    def remember(flags: int) -> int:
        hows[flags] = _OpenHow(flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
        addresses[flags] = ctypes.addressof(hows[flags])
        return addresses[flags]

    def open_beneath(handle: int, path: bytes, flags: int) -> int:
        # C would take a NUL for the end of the path.
        if b"\0" in path:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        if b"/" not in path and path not in _DOTS and not flags & _ODD_WITH_NOFOLLOW:
            # A single name has no link on the way; half the time of a call through ctypes.
            return os.open(path, flags | os.O_NOFOLLOW, dir_fd=handle)
        how = addresses.get(flags) or remember(flags)
        descriptor: int = call(_SYS_OPENAT2, handle, path, how, size)
        tries = _TRIES
        while descriptor < 0:
            code, tries = ctypes.get_errno(), tries - 1
            if code not in (errno.EINTR, errno.EAGAIN) or not tries:
                raise OSError(code, os.strerror(code))
            descriptor = call(_SYS_OPENAT2, handle, path, how, size)
        return descriptor

    return open_beneath


def open_canonical(opener: Opener, path: str) -> int:
    """Open a directory by its canonical path, from `/`, without following links.

    A directory on the way that was exchanged for a link raises ELOOP.
    """
    top = os.open("/", LOOK_IN)
    try:
        return opener(top, path.strip("/").encode() or b".", LOOK_IN)
    finally:
        os.close(top)


def walk_beneath(handle: int, path: bytes, flags: int) -> int:
    """An opener without openat2: one name at a time, each with O_NOFOLLOW."""
    names = path.split(b"/")
    if b".." in names:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    current = handle
    try:
        for name in names[:-1]:
            below = _open_name(current, name, LOOK_IN)
            if current != handle:
                os.close(current)
            current = below
        return _open_name(current, names[-1], flags)
    finally:
        if current != handle:
            os.close(current)


def _open_name(handle: int, name: bytes, flags: int) -> int:
    try:
        descriptor = os.open(name, flags | os.O_NOFOLLOW, dir_fd=handle)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    # O_PATH | O_NOFOLLOW opens the link itself instead of failing.
    if stat.S_ISLNK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return descriptor
