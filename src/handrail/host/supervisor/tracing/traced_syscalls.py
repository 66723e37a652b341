"""The traced system calls, the meaning of their arguments, and the seccomp filter for them."""

from __future__ import annotations

import os
from functools import cache
from typing import Final, NamedTuple

from handrail.host.processes.seccomp import (
    ALLOW,
    ARCHITECTURE,
    ARGUMENTS,
    JUMP_IF_ANY_BIT,
    JUMP_IF_EQUAL,
    LOAD_WORD,
    NUMBER,
    RETURN,
    FilterLine,
    assemble,
)

_ASK: Final = 0x7FC00000
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


class PathArgument(NamedTuple):
    """A path argument of a system call. `path` is the argument's index, `directory` that of the
    directory descriptor (-1: current directory). `follows`: a final link is followed. `handle`:
    the argument is an open file.
    """

    path: int
    directory: int = -1
    follows: bool = False
    handle: bool = False


class TracedSyscall(NamedTuple):
    """A system call that changes something. `flags` is the index of the open flags: only calls
    that write count. `moves`: the paths may be whole directories.
    """

    names: tuple[PathArgument, ...]
    flags: int = -1
    moves: bool = False


_AT: Final = PathArgument(1, 0)
_AT_FOLLOWING: Final = PathArgument(1, 0, follows=True)
_RENAME_AT: Final = TracedSyscall((_AT, PathArgument(3, 2)), moves=True)
# openat2 (a filter cannot read its flags) and fchmodat2 have these numbers on all machines.
_SHARED: Final = {437: TracedSyscall((_AT_FOLLOWING,)), 452: TracedSyscall((_AT_FOLLOWING,))}
TRACED_SYSCALLS: Final[dict[str, dict[int, TracedSyscall]]] = {
    "x86_64": {
        2: TracedSyscall((PathArgument(0, follows=True),), flags=1),
        257: TracedSyscall((_AT_FOLLOWING,), flags=2),
        85: TracedSyscall((PathArgument(0, follows=True),)),
        82: TracedSyscall((PathArgument(0), PathArgument(1)), moves=True),
        264: _RENAME_AT,
        316: _RENAME_AT,
        87: TracedSyscall((PathArgument(0),)),
        84: TracedSyscall((PathArgument(0),)),
        263: TracedSyscall((_AT,)),
        83: TracedSyscall((PathArgument(0),)),
        258: TracedSyscall((_AT,)),
        88: TracedSyscall((PathArgument(1),)),
        266: TracedSyscall((PathArgument(2, 1),)),
        86: TracedSyscall((PathArgument(1),)),
        265: TracedSyscall((PathArgument(3, 2),)),
        76: TracedSyscall((PathArgument(0, follows=True),)),
        90: TracedSyscall((PathArgument(0, follows=True),)),
        91: TracedSyscall((PathArgument(0, handle=True),)),
        268: TracedSyscall((_AT_FOLLOWING,)),
        133: TracedSyscall((PathArgument(0),)),
        259: TracedSyscall((_AT,)),
        **_SHARED,
    },
    "aarch64": {
        56: TracedSyscall((_AT_FOLLOWING,), flags=2),
        38: _RENAME_AT,
        276: _RENAME_AT,
        35: TracedSyscall((_AT,)),
        34: TracedSyscall((_AT,)),
        36: TracedSyscall((PathArgument(2, 1),)),
        37: TracedSyscall((PathArgument(3, 2),)),
        45: TracedSyscall((PathArgument(0, follows=True),)),
        52: TracedSyscall((PathArgument(0, handle=True),)),
        53: TracedSyscall((_AT_FOLLOWING,)),
        33: TracedSyscall((_AT,)),
        **_SHARED,
    },
}


@cache
def filter_for(machine: str) -> bytes:
    """The seccomp filter that notifies the tracer of these calls and allows all others."""
    calls = TRACED_SYSCALLS[machine]
    opens = {number: call.flags for number, call in calls.items() if call.flags >= 0}
    lines = [
        FilterLine(LOAD_WORD, ARCHITECTURE),
        FilterLine(JUMP_IF_EQUAL, _AUDIT[machine], to="known"),
        FilterLine(RETURN, ALLOW),
        FilterLine(LOAD_WORD, NUMBER, name="known"),
        *(FilterLine(JUMP_IF_EQUAL, number, to=f"open{flags}") for number, flags in opens.items()),
        *(FilterLine(JUMP_IF_EQUAL, number, to="ask") for number in calls if number not in opens),
        FilterLine(RETURN, ALLOW),
    ]
    for flags in sorted(set(opens.values())):
        lines += [
            FilterLine(LOAD_WORD, ARGUMENTS + 8 * flags, name=f"open{flags}"),
            FilterLine(JUMP_IF_ANY_BIT, _WRITING, to="ask"),
            FilterLine(RETURN, ALLOW),
        ]
    lines.append(FilterLine(RETURN, _ASK, name="ask"))
    return assemble(lines)
