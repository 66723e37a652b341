"""Whether a root still lies where it was opened.

File tools work through the root's handle, programs and people through its path. When the directory
is moved, or something else is mounted or put in its place, these are two different places.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from handrail.host.files.paths.openat2 import Opener, choose_opener, open_canonical
from handrail.host.messages import ROOT_REPLACED


@dataclass(frozen=True)
class RootHandle:
    """A root by its canonical path and the handle that was opened there."""

    path: str
    handle: int

    @cached_property
    def identity(self) -> tuple[int, int, str]:
        """The directory and the mount behind the handle, which never change while it is open."""
        return _identity(self.handle)


def is_in_place(root: RootHandle) -> bool:
    """Whether the path leads to the very directory behind the handle, on the same mount."""
    try:
        found = open_canonical(_opener(), root.path)
    except (OSError, UnicodeEncodeError):
        return False
    try:
        return _identity(found) == root.identity
    finally:
        os.close(found)


def check_in_place(roots: Iterable[RootHandle]) -> None:
    """Raise `outside_workspace` if another directory, or none, lies at the path of a root.

    Meant for refusing early: it compares directories only, not mounts. What starts a program
    relies on `is_in_place`.
    """
    for root in roots:
        try:
            found = Path(root.path).stat()
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
    """The kernel's number of the mount behind a handle; empty where it does not tell."""
    try:
        described = os.open(f"/proc/self/fdinfo/{handle}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        lines = os.read(described, 4096).decode("ascii", "replace").splitlines()
    finally:
        os.close(described)
    return next((line for line in lines if line.startswith("mnt_id:")), "")
