"""Describes how to start one confined program, as plain data that is sent to the supervisor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

# Placeholder in `argv` for the descriptor from which bubblewrap reads the filter.
FILTER_HANDLE: Final = "{filter}"


_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
# The loopback address at which a program finds its proxy.
PROXY_PORT: Final = 3128


class LandlockRules(NamedTuple):
    """Readable (and executable) and writable trees; everything else is denied. The other fields
    are inodes (`inode_key`), unless they say otherwise.
    """

    read: tuple[str, ...]
    write: tuple[str, ...]
    network: bool
    # Inodes that are denied although they lie inside one of the trees.
    denied: tuple[str, ...] = ()
    # Directories between the top of a tree and a denied inode, which are granted entry by entry.
    denied_parents: tuple[str, ...] = ()
    # Those of `denied_parents` that may be listed.
    listable: tuple[str, ...] = ()
    # Paths of the trees in which modes, owners, times and attributes of files may be changed; if
    # empty, in none of them.
    attributes: tuple[str, ...] = ()


class Recipe(NamedTuple):
    """The program to start, and the rights to drop first on the thread that starts it."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    landlock: LandlockRules | None = None
    # A seccomp program: applied to the thread, or, where `argv` contains `FILTER_HANDLE`, passed
    # to bubblewrap in a memory file.
    filter: bytes = b""
    drop_capabilities: bool = False
    # The program has a pid namespace: the end of its first process ends all others. Such a program
    # also ends with the THREAD that started it, which must therefore stay.
    own_pids: bool = False
    # How many arguments after the first bubblewrap reads from a memory file, because programs
    # inside can read its command line.
    file_arguments: int = 0
    # The write log for the tracer; "" if the program is not traced.
    write_log: str = ""
    # Positions in `argv` of mounts (three arguments each). Paths in a root are mounted by
    # descriptor, unless the inode is in `denied`.
    binds: tuple[int, ...] = ()
    denied: tuple[str, ...] = ()
    # The hosts that the program can reach through a proxy; if empty, there is no proxy.
    hosts: tuple[str, ...] = ()

    @property
    def hands_filter_over(self) -> bool:
        """Whether the program applies the filter itself. This is decided by the kind of recipe,
        because a command's own arguments could contain `FILTER_HANDLE` too.
        """
        return self.own_pids and bool(self.filter)


def proxy_environment(hosts: Sequence[str], *, own_network: bool) -> dict[str, str]:
    """Return the environment variables that direct programs to their proxy. `own_network` says that
    the program has a loopback address of its own, which it reaches without the proxy unless `hosts`
    contains it.
    """
    url = f"http://127.0.0.1:{PROXY_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    local = any(one.startswith(("localhost", "127.", "[::1]")) for one in hosts)
    none = ",".join(_LOOPBACK) if own_network and not local else ""
    return {**dict.fromkeys(names, url), "NO_PROXY": none, "no_proxy": none}
