"""Forecasts, before a command runs, which deleted files could not be restored.

The files are only listed in a question; nothing is copied.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from handrail.core.names.sensitive import is_sensitive
from handrail.core.ports.snapshots import (
    HISTORY,
    LONG_LINK,
    NO_ROOM,
    SENSITIVE,
    UNREADABLE,
    Removal,
    SnapshotLimits,
    UnkeptFile,
)
from handrail.host.snapshots.entries import LONGEST_TARGET

_GIT: Final = ".git"
_GLOB: Final = re.compile(r"[*?\[]")
# The number of files listed in a question; the search ends there.
_MOST: Final = 20


class DeletionForecast:
    """Implements `UndoForecast` for the roots of one workspace."""

    def __init__(
        self, roots: Sequence[str], limits: SnapshotLimits, hidden: Sequence[str] = ()
    ) -> None:
        self._tops = tuple(f"{root.rstrip('/')}/" for root in roots)
        self._limits = limits
        self._hidden = frozenset(hidden)

    def unkept(self, removals: Sequence[Removal]) -> list[UnkeptFile]:
        """Return the first few files that could not be restored; empty if all could."""
        found: list[UnkeptFile] = []
        size = 0
        for files, (path, info) in enumerate(self._entries(removals), 1):
            why = self._why_not(path, info)
            if why is not None:
                found.append(UnkeptFile(self._shown(path), why))
            size += info.st_size if stat.S_ISREG(info.st_mode) and why is None else 0
            if size > self._limits.total_bytes or files > self._limits.entries:
                found.append(UnkeptFile(self._shown(path), NO_ROOM))
                break
            if len(found) >= _MOST:
                break
        return found

    def _entries(self, removals: Sequence[Removal]) -> Iterator[tuple[str, os.stat_result]]:
        seen: set[str] = set()
        for removal in removals:
            deep = removal.path.endswith("/")
            for path in _expanded(removal.path.rstrip("/")):
                if path in seen or not self._is_inside(path):
                    continue
                seen.add(path)
                yield from self._below(path, removal.names, deep=deep)

    def _below(
        self, path: str, names: Sequence[str] | None, *, deep: bool
    ) -> Iterator[tuple[str, os.stat_result]]:
        folders = [path]
        first = True
        while folders:
            path = folders.pop()
            try:
                info = os.lstat(path)
            except OSError:
                continue
            is_folder = stat.S_ISDIR(info.st_mode)
            if is_folder and path.rpartition("/")[2] == _GIT and names is None:
                yield path, info
            elif is_folder and (deep or not first) and path not in self._hidden:
                folders += _listed(path)
            elif not is_folder and _matches(path, names):
                yield path, info
            first = False

    def _why_not(self, path: str, info: os.stat_result) -> str | None:
        if stat.S_ISDIR(info.st_mode):
            return HISTORY
        if stat.S_ISLNK(info.st_mode):
            return LONG_LINK if info.st_size > LONGEST_TARGET else None
        if not stat.S_ISREG(info.st_mode):
            # A pipe or socket has no content to lose.
            return None
        if is_sensitive(self._shown(path)):
            return SENSITIVE
        if info.st_size > self._limits.file_bytes:
            limit = self._limits.file_bytes >> 20
            return f"it is larger than {limit} MB, the most that is kept (setting shadow_file_mb)"
        ours = info.st_uid == os.geteuid() and info.st_mode & stat.S_IRUSR
        return None if ours or os.access(path, os.R_OK, effective_ids=True) else UNREADABLE

    def _is_inside(self, path: str) -> bool:
        return f"{path}/".startswith(self._tops)

    def _shown(self, path: str) -> str:
        return path.removeprefix(self._tops[0])


def _expanded(path: str) -> Iterable[str]:
    if _GLOB.search(path) is None or os.path.lexists(path):
        return (path,)
    return glob.iglob(path)  # noqa: PTH207 - as the shell does: names that begin with a dot are not meant


def _listed(path: str) -> list[str]:
    try:
        return [f"{path}/{name}" for name in os.listdir(path)]  # noqa: PTH208 - many names
    except OSError:
        return []


def _matches(path: str, names: Sequence[str] | None) -> bool:
    name = path.rpartition("/")[2]
    return names is None or any(fnmatchcase(name.casefold(), one.casefold()) for one in names)
