"""A short look at a tree before it is searched, to choose how."""

from __future__ import annotations

import os
from collections import deque
from typing import Final, NamedTuple

from handrail.core.places import Kind, Place
from handrail.host.search.search_roots import Root, open_directory

_FEW: Final = 100


class Glance(NamedTuple):
    """What the first hundred names show.

    `small`: there are no more, so a second thread would cost more than it brings.
    `git`: a `.git` was among them.
    """

    small: bool
    git: bool


def glance(root: Root, place: Place) -> Glance:
    """Look at about a hundred names from the top down, and at no more than that."""
    if place.kind is Kind.FILE:
        return Glance(small=True, git=False)
    seen = 0
    git = False
    pending = deque([place.rel])
    while pending and seen <= _FEW:
        rel = pending.popleft()
        try:
            handle = open_directory(root, rel)
        except OSError:
            continue
        try:
            git = git or _has_git(handle)
            names = _directories(handle, _FEW - seen)
        finally:
            os.close(handle)
        seen += names.seen
        pending.extend(f"{rel}/{name}" if rel else name for name in names.directories)
    return Glance(seen <= _FEW, git)


class _Names(NamedTuple):
    seen: int
    directories: list[str]


def _directories(handle: int, most: int) -> _Names:
    seen = 0
    directories: list[str] = []
    with os.scandir(handle) as entries:
        for entry in entries:
            seen += 1
            if seen > most:
                break
            if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                directories.append(entry.name)
    return _Names(seen, directories)


def _has_git(handle: int) -> bool:
    try:
        os.stat(".git", dir_fd=handle, follow_symlinks=False)
    except OSError:
        return False
    return True
