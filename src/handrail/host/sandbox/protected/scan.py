"""The entries at protected names now, each by its own lstat.

Upper entries come before lower ones. No link is followed and no content is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Final

from handrail.host.files.root_identity import RootHandle, lstat_at
from handrail.host.sandbox.protected.listing import ProtectedHit
from handrail.host.sandbox.protected.name_table import (
    BARE,
    FILE,
    FIRST,
    GIT,
    CommandAllowances,
    ProtectedNameTable,
)

# Entries per name of the table, and in total.
_MOST_ENTRIES: Final = 10_000
_MOST_IN_ALL: Final = 200_000
_DEEPEST_GROUP: Final = 8

# What makes git run a program or use other files. Not objects, refs, index and logs, which a
# commit changes.
_GIT_FILES: Final = ("config", "config.worktree", "commondir", "gitdir")
_GIT_TREES: Final = ("hooks", "remotes", "branches")
# They hold lines that `git rebase --continue` and the like execute. A commit may finish such a
# sequence, but only certain commands may begin one.
_GIT_SEQUENCES: Final = ("rebase-merge", "rebase-apply", "sequencer", "BISECT_NAMES")
# Temporary; one that stays prevents git from writing.
_GIT_LOCKS: Final = ("config.lock", "config.worktree.lock")
_GIT_INSIDE: Final = {
    "info": ("attributes",),
    "objects": (),
    "objects/info": ("alternates", "http-alternates"),
}
_GIT_GROUPS: Final = ("modules", "worktrees")


class ProtectedScan:
    """The protected entries of one root."""

    def __init__(
        self,
        root: RootHandle,
        names: ProtectedNameTable,
        allowed: CommandAllowances,
    ) -> None:
        self.entries: dict[str, os.stat_result] = {}
        # Entries whose own name is protected.
        self.tops: list[str] = []
        # Directories of git that only lead to entries.
        self.ways: dict[str, os.stat_result] = {}
        # Git's own directories.
        self.git: set[str] = set()
        # Steps that git has begun in them, which may be finished.
        self.pending: set[str] = set()
        # Names that hold more entries than were scanned.
        self.cut: set[str] = set()
        # The `HEAD` files of repositories in directories of any name.
        self.repositories: set[str] = set()
        self._most = _MOST_ENTRIES
        self._root = root
        self._names = names
        self._lifted = allowed.lifted
        self._git_writable = allowed.git_writable
        self._sequences = () if allowed.git_writable and allowed.sequences else _GIT_SEQUENCES

    def run(self, hits: Iterable[ProtectedHit]) -> ProtectedScan:
        """Scan these names and everything below them; returns itself."""
        for hit in hits:
            if hit.rel in self.entries or self._lifted.covers(hit.rel):
                continue
            self._most = min(len(self.entries) + _MOST_ENTRIES, _MOST_IN_ALL)
            if hit.mark & BARE:
                self._bare(hit.rel)
            else:
                self._meet(hit)
        return self

    def _meet(self, hit: ProtectedHit) -> None:
        info = self._root.lstat_beneath(hit.rel)
        is_folder = info is not None and stat.S_ISDIR(info.st_mode)
        if info is None or (is_folder and not hit.mark & ~(FILE | FIRST)):
            return
        self.tops.append(hit.rel)
        self.entries[hit.rel] = info
        if not stat.S_ISDIR(info.st_mode):
            return
        if hit.mark & GIT:
            self._git(hit.rel)
        else:
            self._tree(hit.rel)
        if len(self.entries) > self._most:
            self.cut.add(hit.rel)

    def _tree(self, top: str) -> None:
        pending = [top]
        for rel in pending:
            if len(self.entries) > self._most:
                return
            for name, info in self._inside(rel):
                below = f"{rel}/{name}"
                if self._lifted.covers(below):
                    continue
                self.entries[below] = info
                if not stat.S_ISDIR(info.st_mode):
                    continue
                if self._names.mark(name) & GIT:
                    self._git(below)
                else:
                    pending.append(below)

    def _bare(self, rel: str) -> None:
        """A repository in a directory of any name: its existence and what git runs are protected."""
        head = f"{rel}/HEAD".lstrip("/")
        if rel not in self.git and not self._lifted.covers(head):
            self.repositories.add(head)
            self._git(rel)

    def _git(self, rel: str) -> None:
        self.git.add(rel)
        above = f"{rel}/" if rel else ""
        for name in _GIT_FILES:
            self._note(f"{above}{name}")
        for name in (*_GIT_TREES, *self._sequences, *_GIT_LOCKS):
            if self._note(f"{above}{name}"):
                self._tree(f"{above}{name}")
        passing = self._sequences if self._git_writable else ()
        self.pending.update(f"{above}{name}" for name in (*passing, *_GIT_LOCKS))
        for way, names in _GIT_INSIDE.items():
            if self._passes(f"{above}{way}"):
                for name in names:
                    self._note(f"{above}{way}/{name}")
        for name in _GIT_GROUPS:
            if self._passes(f"{above}{name}"):
                self._group(f"{above}{name}", 0)

    def _group(self, rel: str, depth: int) -> None:
        """Git directories below this one; a submodule's name may contain slashes."""
        for name, info in self._inside(rel):
            below = f"{rel}/{name}"
            if not stat.S_ISDIR(info.st_mode):
                if stat.S_ISLNK(info.st_mode):
                    self._note(below)
            elif self._root.lstat_beneath(f"{below}/HEAD") is not None:
                self._git(below)
            elif depth < _DEEPEST_GROUP:
                self._group(below, depth + 1)

    def _passes(self, rel: str) -> bool:
        """Whether it is a directory; any other entry of that name is protected itself."""
        info = self._root.lstat_beneath(rel)
        if info is None:
            return False
        if stat.S_ISDIR(info.st_mode):
            self.ways[rel] = info
            return True
        return self._note(rel)

    def _note(self, rel: str) -> bool:
        """Record an entry if it exists; whether it is a directory."""
        info = self._root.lstat_beneath(rel)
        if info is None or self._lifted.covers(rel):
            return False
        self.entries[rel] = info
        return stat.S_ISDIR(info.st_mode)

    def _inside(self, rel: str) -> list[tuple[str, os.stat_result]]:
        try:
            handle = self._root.open_folder(rel)
        except OSError:
            return []
        try:
            return [
                (name, info)
                for name in sorted(os.listdir(handle))  # noqa: PTH208 - by handle
                if (info := lstat_at(handle, name)) is not None
            ]
        finally:
            os.close(handle)
