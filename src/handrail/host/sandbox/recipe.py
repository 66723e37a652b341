"""How to start one confined program, as plain data that travels to the warden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

# Stands in `argv` for the number of the handle from which bubblewrap reads the filter.
FILTER_HANDLE: Final = "{filter}"


class LandlockRules(NamedTuple):
    """Paths a program may read (and run), and those it may also write; all else is closed.
    Of what lies below `listed` only the names can be told.
    """

    read: tuple[str, ...]
    write: tuple[str, ...]
    network: bool
    listed: tuple[str, ...] = ()


class Recipe(NamedTuple):
    """What to start and what to give up first, on the thread that starts it.

    `filter` is a seccomp program: applied to the thread, or, where `argv` holds
    `FILTER_HANDLE`, handed over through a memory file. `own_pids`: ending the first process
    ends all it started, because the kernel gave them a process table of their own. Such a
    program also ends with the THREAD that started it, which must therefore stay. `aside` is how
    many words of `argv` after the first bubblewrap reads from a memory file, because its own
    command line is seen by the programs in it. `notes` is a file for what a witness sees.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    landlock: LandlockRules | None = None
    filter: bytes = b""
    drop_capabilities: bool = False
    own_pids: bool = False
    aside: int = 0
    notes: str = ""

    @property
    def hands_filter_over(self) -> bool:
        """Whether the program itself takes the filter. Told by what kind of recipe it is: a
        command's own words could hold `FILTER_HANDLE` too.
        """
        return self.own_pids and bool(self.filter)
