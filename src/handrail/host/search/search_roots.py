"""The roots of a search: one handle each, and opening that never leaves the root.

Every name is opened beneath a handle without following links, so a directory that was replaced by a
link cannot be entered.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from handrail.host.files.roots import choose_opener, open_canonical

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, so that opening a FIFO returns.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class SearchRoot:
    """One root: canonical path, handle, shown form of its paths, hidden directories in it."""

    path: str
    fd: int
    prefix: str
    hidden: tuple[str, ...] = ()
    # Other absolute paths that lead to the root.
    aliases: tuple[str, ...] = ()

    def show(self, rel: str) -> str:
        """Return the path as shown to the model: relative in the workspace, absolute elsewhere.

        A name that is not UTF-8 is shown with replacement characters; it cannot be requested.
        """
        shown = self.prefix + rel
        return shown if shown.isascii() else os.fsencode(shown).decode("utf-8", "replace")


def open_roots(
    paths: Sequence[str],
    hidden: Sequence[str] = (),
    handles: Sequence[int] = (),
    aliases: Sequence[tuple[str, str]] = (),
) -> tuple[SearchRoot, ...]:
    """Open a handle per root (canonical paths), the workspace first.

    If `handles` are given, they are duplicated, so that exactly these directories are searched.
    Raises OSError if one is not a directory, or is reached through a link.
    """
    roots: list[SearchRoot] = []
    try:
        for index, path in enumerate(paths):
            prefix = path.rstrip(os.sep) + os.sep if index else ""
            handle = _above_pipes(handles[index]) if handles else _open_root(path)
            also = tuple(alias for alias, real in aliases if real == path)
            roots.append(SearchRoot(path, handle, prefix, _inside(path, hidden), also))
    except OSError:
        close_roots(roots)
        raise
    return tuple(roots)


def _inside(path: str, hidden: Sequence[str]) -> tuple[str, ...]:
    top = path.rstrip(os.sep) + os.sep
    return tuple(one.removeprefix(top) for one in hidden if one.startswith(top))


def close_roots(roots: Sequence[SearchRoot]) -> None:
    """Close the handles."""
    for root in roots:
        os.close(root.fd)


def open_directory(root: SearchRoot, rel: str) -> int:
    """Open a directory beneath the root; OSError if a part is a link."""
    handle = os.open(".", DIRECTORY, dir_fd=root.fd)
    for part in Path(rel).parts:
        try:
            following = os.open(part, DIRECTORY, dir_fd=handle)
        finally:
            os.close(handle)
        handle = following
    return handle


def open_file(name: str, directory: int) -> int | None:
    """Open a regular file in an open directory; None if it is anything else."""
    try:
        handle = os.open(name, _FILE, dir_fd=directory)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    return None


def open_beneath(root: SearchRoot, rel: str) -> int | None:
    """Open a regular file beneath the root; None if there is none."""
    parent, _, name = rel.rpartition("/")
    try:
        directory = open_directory(root, parent)
    except OSError:
        return None
    try:
        return open_file(name, directory)
    finally:
        os.close(directory)


def repository_above(root: str) -> tuple[str, ...]:
    """Return the directories above a root up to the top of its git repository, nearest first.

    Empty if the root is the top or lies in no repository.
    """
    if Path(root, ".git").exists():
        return ()
    above: list[str] = []
    for parent in Path(root).parents:
        above.append(str(parent))
        if (parent / ".git").exists():
            return tuple(above)
    return ()


def _open_root(path: str) -> int:
    handle = open_canonical(choose_opener(), path)
    try:
        return _above_pipes(handle)
    finally:
        os.close(handle)


def _above_pipes(handle: int) -> int:
    """Return a duplicate above 2: a child that starts in it has its pipes at 0, 1 and 2."""
    return fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 3)
