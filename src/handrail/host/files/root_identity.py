"""Roots as a pair of path and open handle: access beneath the handle, and whether the path still
leads to the same directory.

File tools use the handle; programs and users use the path. After the directory is moved, or
something else is mounted in its place, path and handle lead to different directories.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import NamedTuple

from handrail.host.files.roots import LIST, LOOK_IN, Opener, choose_opener, open_canonical


class _OpenDirectory(NamedTuple):
    path: str
    handle: int


class RootHandle(_OpenDirectory):
    """A root: its canonical path and the handle that was opened there.

    Paths beneath the root are relative to it and never lead through a link, except in `lstat`.
    """

    @cached_property
    def identity(self) -> tuple[int, int, str]:
        """The directory and the mount behind the handle; they never change while it is open."""
        return _identity(self.handle)

    @property
    def prefix(self) -> str:
        """The path with a trailing slash, with which every path beneath the root starts."""
        return f"{self.path.rstrip('/')}/"

    def absolute(self, rel: str) -> str:
        """Return the absolute path of a path beneath the root."""
        return f"{self.prefix}{rel}" if rel else self.path

    def open(self, rel: str, flags: int) -> int:
        """Open a path beneath the root. Raises OSError, also if a part of the path is a link."""
        return _opener()(self.handle, os.fsencode(rel) or b".", flags)

    def open_folder(self, rel: str) -> int:
        """Open a directory for listing; raises OSError."""
        return self.open(rel, LIST)

    @contextmanager
    def open_parent(self, rel: str) -> Iterator[tuple[int, str]]:
        """Open the directory of an entry; yield its handle and the entry's name. Raises OSError."""
        above, _, name = rel.rpartition("/")
        handle = self.open(above, LOOK_IN)
        try:
            yield handle, name
        finally:
            os.close(handle)

    def lstat(self, rel: str) -> os.stat_result:
        """Stat a path cheaply; raises OSError. Links in parent directories are followed, so the
        result may only be compared with a known inode.
        """
        return os.stat(rel or ".", dir_fd=self.handle, follow_symlinks=False)

    def lstat_beneath(self, rel: str) -> os.stat_result | None:
        """Stat a path without following any link; return None if there is no such entry."""
        try:
            with self.open_parent(rel) as (handle, name):
                return lstat_at(handle, name)
        except OSError:
            return None


def lstat_at(handle: int, name: str) -> os.stat_result | None:
    """Stat an entry of an open directory; return None if there is none of that name."""
    try:
        return os.stat(name, dir_fd=handle, follow_symlinks=False)
    except OSError:
        return None


def is_in_place(root: RootHandle) -> bool:
    """Return whether the path leads to the directory behind the handle, on an equal mount."""
    try:
        found = open_canonical(_opener(), root.path)
    except (OSError, UnicodeEncodeError):
        return False
    try:
        return _identity(found) == root.identity
    finally:
        os.close(found)


def check_in_place(roots: Iterable[RootHandle]) -> None:
    """Raise `outside_workspace` if the path of a root no longer leads to its directory.

    This check fails early but compares directories only, not mounts. Starting a program relies on
    `is_in_place`.
    """
    from handrail.host.messages import ROOT_REPLACED

    for root in roots:
        try:
            found = os.stat(root.path)  # noqa: PTH116 - on the way of every command
        except (OSError, UnicodeEncodeError):
            raise ROOT_REPLACED.error(path=root.path) from None
        if (found.st_dev, found.st_ino) != root.identity[:2]:
            raise ROOT_REPLACED.error(path=root.path)


@cache
def _opener() -> Opener:
    return choose_opener()


def _identity(handle: int) -> tuple[int, int, str]:
    info = os.fstat(handle)
    return info.st_dev, info.st_ino, _mount(handle)


def _mount(handle: int) -> str:
    """Return the mount id behind a handle; "" if the kernel does not report it."""
    try:
        described = os.open(f"/proc/self/fdinfo/{handle}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        lines = os.read(described, 4096).decode("ascii", "replace").splitlines()
    finally:
        os.close(described)
    return next((line for line in lines if line.startswith("mnt_id:")), "")


class RootedPaths:
    """Stats and opens absolute paths; those in a root by the root's handle. Thread-safe."""

    def __init__(self, roots: Sequence[RootHandle] = ()) -> None:
        self._roots = sorted(roots, key=lambda root: -len(root.path))
        self._opener = choose_opener()

    def lstat(self, path: str) -> os.stat_result:
        """Stat a path; raises OSError."""
        for root in self._roots:
            rel = _beneath(path, root.path)
            if rel is not None:
                return root.lstat(rel)
        return os.lstat(path)

    def open_folder(self, path: str) -> int:
        """Open a directory for listing. Raises OSError, also if a part of the path is a link."""
        for root in self._roots:
            rel = _beneath(path, root.path)
            if rel is not None:
                return root.open_folder(rel)
        top = os.open("/", LOOK_IN)
        try:
            return self._opener(top, os.fsencode(path.strip("/")) or b".", LIST)
        finally:
            os.close(top)


def is_inside(path: str, top: str) -> bool:
    """Return whether a normalised absolute path is `top` or lies beneath it, compared by name."""
    return path == top or path.startswith(f"{top.rstrip('/')}/")


def _beneath(path: str, root: str) -> str | None:
    """Return the path relative to a root; None if it lies outside."""
    top = root.rstrip("/")
    if path == root:
        return ""
    return path[len(top) + 1 :] if path.startswith(f"{top}/") else None
