"""How to start one confined program, as plain data that travels to the supervisor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

# Stands in `argv` for the number of the handle from which bubblewrap reads the filter.
FILTER_HANDLE: Final = "{filter}"


class LandlockRules(NamedTuple):
    """Trees that a program may read (and run), and those that it may also write; all else is
    closed. The other fields are inodes (`grants.inode_key`).
    """

    read: tuple[str, ...]
    write: tuple[str, ...]
    network: bool
    # What stays closed although it lies in one of the trees.
    closed: tuple[str, ...] = ()
    # The folders between a tree's top and what is closed in it: granted entry by entry.
    ways: tuple[str, ...] = ()
    # Those of them whose names may be listed.
    listed: tuple[str, ...] = ()


class Recipe(NamedTuple):
    """What to start and what to give up first, on the thread that starts it.

    `filter` is a seccomp program: applied to the thread, or, where `argv` holds
    `FILTER_HANDLE`, handed over through a memory file. `own_pids`: ending the first process
    ends all it started, because the kernel gave them a process table of their own. Such a
    program also ends with the THREAD that started it, which must therefore stay. `aside` is how
    many words of `argv` after the first bubblewrap reads from a memory file, because its own
    command line is seen by the programs in it. `notes` is a file for what a tracer sees.
    `binds` are the places in `argv` at which three words say that a path is mounted: those that
    lie in a root are mounted by handle, unless the inode is one of `closed`.
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
    binds: tuple[int, ...] = ()
    closed: tuple[str, ...] = ()

    @property
    def hands_filter_over(self) -> bool:
        """Whether the program itself takes the filter. Told by what kind of recipe it is: a
        command's own words could hold `FILTER_HANDLE` too.
        """
        return self.own_pids and bool(self.filter)
