"""Whether a root still lies where it was opened.

File tools work through the root's handle, programs and people through its path. When the directory
is moved, or something else is mounted or put in its place, these are two different places.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from handrail.host.files.openat2 import Opener, choose_opener, open_canonical
from handrail.host.messages import ROOT_REPLACED


class RootHandle(NamedTuple):
    """A root by its canonical path and the handle that was opened there."""

    path: str
    handle: int


def is_in_place(root: RootHandle) -> bool:
    """Whether the path leads to the very directory behind the handle, on the same mount."""
    try:
        found = open_canonical(_opener(), root.path)
    except (OSError, UnicodeEncodeError):
        return False
    try:
        return _identity(found) == _identity(root.handle)
    finally:
        os.close(found)


def check_in_place(roots: Iterable[RootHandle]) -> None:
    """Raise `outside_workspace` if one of the roots was moved or replaced."""
    for root in roots:
        if not is_in_place(root):
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
