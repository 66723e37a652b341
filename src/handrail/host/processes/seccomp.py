"""System-call filters: assembles and applies them, and contains the filter for searches.

Landlock covers neither UDP, MPTCP and path-name sockets nor chmod, chown, utime and xattr, nor,
without a slowdown, truncation; the filter for searches does. The filter for commands is
`sandbox/backends/syscall_filter.py`. A filter binds the calling THREAD for good: apply it only on a
temporary thread.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from handrail.host.processes.landlock import no_new_privileges

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2
_ERROR: Final = 0x00050000
_DENY: Final = _ERROR | errno.EPERM
ALLOW: Final = 0x7FFF0000
LOAD_WORD: Final = 0x20
AND_WITH: Final = 0x54
JUMP_IF_EQUAL: Final = 0x15
JUMP_IF_AT_LEAST: Final = 0x35
JUMP_IF_ANY_BIT: Final = 0x45
RETURN: Final = 0x06
NUMBER: Final = 0
ARCHITECTURE: Final = 4
ARGUMENTS: Final = 16
# Numbers from here on belong to the x32 ABI, which offers every call a second time on x86-64.
_X32: Final = 0x40000000

# io_uring_setup, openat2 (its flags cannot be read), fchmodat2, setxattrat, removexattrat: equal
# on all machines.
_SHARED: Final = (425, 437, 452, 463, 466)


class _Architecture(NamedTuple):
    audit: int
    # The calls that open a file, each with the index of its flags.
    opens: tuple[tuple[int, int], ...]
    denied: tuple[int, ...]


# socket, truncate, creat, chmod x2, chown x3, ptrace, utime, setxattr x3, removexattr x3,
# utimes, fchownat, futimesat, fchmodat, utimensat
_X86_64: Final = (
    41, 76, 85, 90, 91, 92, 93, 94, 101, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280,
)  # fmt: skip
# setxattr x3, removexattr x3, truncate, fchmod, fchmodat, fchownat, fchown, utimensat, ptrace,
# socket
_AARCH64: Final = (5, 6, 7, 14, 15, 16, 45, 52, 53, 54, 55, 88, 117, 198)

_MACHINES: Final = {
    "x86_64": _Architecture(0xC000003E, opens=((2, 1), (257, 2)), denied=_X86_64),
    "aarch64": _Architecture(0xC00000B7, opens=((56, 2),), denied=_AARCH64),
}


def supported() -> bool:
    """Whether there is a filter for this machine."""
    return sys.platform == "linux" and os.uname().machine in _MACHINES


def restrict_thread() -> bool:
    """Apply the filter for searches to this thread and what it starts; return whether it worked."""
    return supported() and apply(_program(_MACHINES[os.uname().machine]))


def apply(code: bytes) -> bool:
    """Apply an assembled filter to this thread and what it starts; return whether it worked."""
    if not no_new_privileges():
        return False
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    return bool(_libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, program, 0, 0) == 0)


def error(number: int) -> int:
    """Return the filter's return value that makes a call fail with this `errno`."""
    return _ERROR | number


class FilterLine(NamedTuple):
    """One instruction of a filter; a taken jump goes to the line of that name."""

    code: int
    value: int
    to: str = ""
    name: str = ""


def _program(machine: _Architecture) -> bytes:
    lines = [
        *opening(machine.audit),
        *(FilterLine(JUMP_IF_EQUAL, number, to=f"open{flags}") for number, flags in machine.opens),
        *(FilterLine(JUMP_IF_EQUAL, number, to="deny") for number in machine.denied + _SHARED),
        FilterLine(RETURN, ALLOW),
    ]
    for _, flags in machine.opens:
        lines += [
            FilterLine(LOAD_WORD, ARGUMENTS + 8 * flags, name=f"open{flags}"),
            FilterLine(JUMP_IF_ANY_BIT, os.O_TRUNC, to="deny"),
            FilterLine(RETURN, ALLOW),
        ]
    lines.append(FilterLine(RETURN, _DENY, name="deny"))
    return assemble(lines)


def opening(audit: int) -> list[FilterLine]:
    """Return the start of a filter: deny other architectures and x32, load the call number."""
    return [
        FilterLine(LOAD_WORD, ARCHITECTURE),
        FilterLine(JUMP_IF_EQUAL, audit, to="known"),
        FilterLine(RETURN, _DENY),
        FilterLine(LOAD_WORD, NUMBER, name="known"),
        FilterLine(JUMP_IF_AT_LEAST, _X32, to="deny"),
    ]


def assemble(lines: Sequence[FilterLine]) -> bytes:
    """Assemble the filter in the kernel's format; a jump spans at most 255 lines."""
    where = {line.name: index for index, line in enumerate(lines)}
    return b"".join(
        struct.pack("=HBBI", line.code, where[line.to] - index - 1 if line.to else 0, 0, line.value)
        for index, line in enumerate(lines)
    )


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
