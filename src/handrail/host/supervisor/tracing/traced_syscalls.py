"""The traced system calls, the meaning of their arguments, and the filters of the listener."""

from __future__ import annotations

import errno
import os
from functools import cache
from typing import Final, NamedTuple

from handrail.host.processes.seccomp import (
    ALLOW,
    AND_WITH,
    ARCHITECTURE,
    ARGUMENTS,
    JUMP_IF_ANY_BIT,
    JUMP_IF_EQUAL,
    LOAD_WORD,
    NUMBER,
    RETURN,
    FilterLine,
    assemble,
    error,
)
from handrail.host.supervisor.tracing.attribute_calls import ATTRIBUTE_CALLS
from handrail.host.supervisor.tracing.process_memory import SHARED_MEMORY_CALLS

_ASK: Final = 0x7FC00000
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_O_NOFOLLOW_AND_LARGEFILE: Final = {
    "x86_64": (0o400000, 0o100000),
    "aarch64": (0o100000, 0o400000),
}
# `connect` on each machine.
CONNECT_CALLS: Final = {"x86_64": 42, "aarch64": 203}
_AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


class PathArgument(NamedTuple):
    """A path argument of a system call. `path` is the argument's index, `directory` that of the
    directory descriptor (-1: current directory). `follows` says that a final link is followed,
    `handle` that the argument is an open file.
    """

    path: int
    directory: int = -1
    follows: bool = False
    handle: bool = False


class TracedSyscall(NamedTuple):
    """A system call that changes something. `flags` is the index of the open flags: only calls that
    write count. `moves` says that the paths may be whole directories.
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
def filter_for(machine: str, *, notes: bool, attributes: bool, connects: bool = False) -> bytes:
    """Return the seccomp filter of the listener; it allows all other calls.

    `notes`: the listener gets all calls of `TRACED_SYSCALLS`. `attributes`: it gets the calls that
    change attributes, and those that may name shared memory. `connects`: it gets `connect`.
    """
    flags_of: dict[int, int] = {}
    if notes:
        flags_of |= {number: call.flags for number, call in TRACED_SYSCALLS[machine].items()}
    if attributes:
        flags_of |= {number: call.flags for number, call in SHARED_MEMORY_CALLS[machine].items()}
        flags_of |= dict.fromkeys(ATTRIBUTE_CALLS[machine], -1)
    if connects:
        flags_of[CONNECT_CALLS[machine]] = -1
    opens = {number: flags for number, flags in flags_of.items() if flags >= 0}
    writing = _WRITING if notes else os.O_RDWR
    lines = [
        *_this_architecture(machine),
        *(FilterLine(JUMP_IF_EQUAL, number, to=f"open{flags}") for number, flags in opens.items()),
        *(
            FilterLine(JUMP_IF_EQUAL, number, to="ask")
            for number in flags_of
            if number not in opens
        ),
        FilterLine(RETURN, ALLOW),
    ]
    for flags in sorted(set(opens.values())):
        lines += [
            FilterLine(LOAD_WORD, ARGUMENTS + 8 * flags, name=f"open{flags}"),
            FilterLine(JUMP_IF_ANY_BIT, writing, to="ask"),
            *(_shared_memory_lines(machine) if attributes else ()),
            FilterLine(RETURN, ALLOW),
        ]
    lines.append(FilterLine(RETURN, _ASK, name="ask"))
    return assemble(lines)


@cache
def denial_filter(machine: str) -> bytes:
    """The seccomp filter for programs without a listener: calls that change attributes fail."""
    return assemble(
        [
            *_this_architecture(machine),
            *(FilterLine(JUMP_IF_EQUAL, number, to="deny") for number in ATTRIBUTE_CALLS[machine]),
            FilterLine(RETURN, ALLOW),
            FilterLine(RETURN, error(errno.EPERM), name="deny"),
        ]
    )


def _this_architecture(machine: str) -> list[FilterLine]:
    """Allow the calls of other architectures, which the filter for commands denies."""
    return [
        FilterLine(LOAD_WORD, ARCHITECTURE),
        FilterLine(JUMP_IF_EQUAL, _AUDIT[machine], to="known"),
        FilterLine(RETURN, ALLOW),
        FilterLine(LOAD_WORD, NUMBER, name="known"),
    ]


def _shared_memory_lines(machine: str) -> list[FilterLine]:
    """Return the lines for `shm_open`, which is recognised by its flags."""
    nofollow, large_file = _O_NOFOLLOW_AND_LARGEFILE[machine]
    ignored = os.O_NONBLOCK | large_file
    return [
        FilterLine(AND_WITH, 0xFFFFFFFF & ~ignored),
        FilterLine(JUMP_IF_EQUAL, nofollow | os.O_CLOEXEC, to="ask"),
    ]
