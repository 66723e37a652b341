"""A small system-call filter that closes what Landlock leaves open to a reader.

Landlock stops neither UDP, MPTCP and path-name sockets nor chmod, chown, utime and xattr.
It binds the calling THREAD for ever: only call `restrict_thread` on a throw-away one.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from functools import cache
from typing import Final, NamedTuple

from handrail.host.landlock import no_new_privileges

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2
_ALLOW: Final = 0x7FFF0000
_DENY: Final = 0x00050000 | errno.EPERM
_LOAD_WORD: Final = 0x20
_JUMP_IF_EQUAL: Final = 0x15
_JUMP_IF_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06
_OFFSET_NUMBER: Final = 0
_OFFSET_ARCHITECTURE: Final = 4
# Numbers from here on belong to the x32 ABI, a second way to every call on x86-64.
_X32: Final = 0x40000000

# io_uring_setup, fchmodat2, setxattrat, removexattrat: the same everywhere.
_SHARED: Final = (425, 452, 463, 466)


class _Machine(NamedTuple):
    audit: int
    denied: tuple[int, ...]


_MACHINES: Final = {
    # socket, chmod x2, chown x3, ptrace, utime, setxattr x3, removexattr x3, utimes,
    # fchownat, futimesat, fchmodat, utimensat
    "x86_64": _Machine(
        0xC000003E,
        (41, 90, 91, 92, 93, 94, 101, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280),
    ),
    # setxattr x3, removexattr x3, fchmod, fchmodat, fchownat, fchown, utimensat, ptrace, socket
    "aarch64": _Machine(0xC00000B7, (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, 117, 198)),
}


def supported() -> bool:
    """Whether there is a filter for this machine."""
    return sys.platform == "linux" and platform.machine() in _MACHINES


def restrict_thread() -> bool:
    """Deny the listed calls to this thread and what it starts; whether the kernel agreed."""
    if not (supported() and no_new_privileges()):
        return False
    code = _program(_MACHINES[platform.machine()])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    return bool(_libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, program, 0, 0) == 0)


def _program(machine: _Machine) -> bytes:
    denied = machine.denied + _SHARED
    lines = [
        (_LOAD_WORD, 0, 0, _OFFSET_ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _DENY),
        (_LOAD_WORD, 0, 0, _OFFSET_NUMBER),
        (_JUMP_IF_AT_LEAST, len(denied) + 1, 0, _X32),
        # Each jump counts the lines to the last one, which denies.
        *((_JUMP_IF_EQUAL, len(denied) - i, 0, number) for i, number in enumerate(denied)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _DENY),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
