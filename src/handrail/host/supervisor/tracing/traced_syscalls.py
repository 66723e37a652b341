"""The system calls that a witness looks at: which argument is what, and the filter for them."""

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
    Line,
    assemble,
)

_ASK: Final = 0x7FC00000
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


class Named(NamedTuple):
    """A path of a call: which argument it is, and which one the directory it starts from
    (-1: the current one). `follows`: a link at its end is followed. `handle`: it is an open
    file instead.
    """

    path: int
    directory: int = -1
    follows: bool = False
    handle: bool = False


class Call(NamedTuple):
    """A call that changes something. `flags`: which argument says how it opens a file; then
    only those that write count. `moves`: what it names may be a whole directory.
    """

    names: tuple[Named, ...]
    flags: int = -1
    moves: bool = False


_AT: Final = Named(1, 0)
_AT_FOLLOWING: Final = Named(1, 0, follows=True)
_RENAME_AT: Final = Call((_AT, Named(3, 2)), moves=True)
# openat2 (its flags cannot be seen by a filter), fchmodat2: the same everywhere.
_SHARED: Final = {437: Call((_AT_FOLLOWING,)), 452: Call((_AT_FOLLOWING,))}
CALLS: Final[dict[str, dict[int, Call]]] = {
    "x86_64": {
        2: Call((Named(0, follows=True),), flags=1),
        257: Call((_AT_FOLLOWING,), flags=2),
        85: Call((Named(0, follows=True),)),
        82: Call((Named(0), Named(1)), moves=True),
        264: _RENAME_AT,
        316: _RENAME_AT,
        87: Call((Named(0),)),
        84: Call((Named(0),)),
        263: Call((_AT,)),
        83: Call((Named(0),)),
        258: Call((_AT,)),
        88: Call((Named(1),)),
        266: Call((Named(2, 1),)),
        86: Call((Named(1),)),
        265: Call((Named(3, 2),)),
        76: Call((Named(0, follows=True),)),
        90: Call((Named(0, follows=True),)),
        91: Call((Named(0, handle=True),)),
        268: Call((_AT_FOLLOWING,)),
        133: Call((Named(0),)),
        259: Call((_AT,)),
        **_SHARED,
    },
    "aarch64": {
        56: Call((_AT_FOLLOWING,), flags=2),
        38: _RENAME_AT,
        276: _RENAME_AT,
        35: Call((_AT,)),
        34: Call((_AT,)),
        36: Call((Named(2, 1),)),
        37: Call((Named(3, 2),)),
        45: Call((Named(0, follows=True),)),
        52: Call((Named(0, handle=True),)),
        53: Call((_AT_FOLLOWING,)),
        33: Call((_AT,)),
        **_SHARED,
    },
}


@cache
def filter_for(machine: str) -> bytes:
    """The filter that asks us about these calls and lets all others pass."""
    calls = CALLS[machine]
    opens = {number: call.flags for number, call in calls.items() if call.flags >= 0}
    lines = [
        Line(LOAD_WORD, ARCHITECTURE),
        Line(JUMP_IF_EQUAL, _AUDIT[machine], to="known"),
        Line(RETURN, ALLOW),
        Line(LOAD_WORD, NUMBER, name="known"),
        *(Line(JUMP_IF_EQUAL, number, to=f"open{flags}") for number, flags in opens.items()),
        *(Line(JUMP_IF_EQUAL, number, to="ask") for number in calls if number not in opens),
        Line(RETURN, ALLOW),
    ]
    for flags in sorted(set(opens.values())):
        lines += [
            Line(LOAD_WORD, ARGUMENTS + 8 * flags, name=f"open{flags}"),
            Line(JUMP_IF_ANY_BIT, _WRITING, to="ask"),
            Line(RETURN, ALLOW),
        ]
    lines.append(Line(RETURN, _ASK, name="ask"))
    return assemble(lines)
