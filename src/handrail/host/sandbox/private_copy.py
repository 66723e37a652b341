"""A private copy of the workspace, shown to a program in place of the real one.

Everything that the program writes there is removed with the copy. Large folders that programs
rarely write are not copied; the program sees the real ones, read-only.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.core.ports.processes import RootCopy
from handrail.core.problems import ProblemRaised
from handrail.host.files.locked_directory import create_locked_directory, remove_tree
from handrail.host.files.tree_copy import copy_tree
from handrail.host.sandbox.temp_dirs import TEMP_PREFIX

MAX_ENTRIES: Final = 20_000
MAX_BYTES: Final = 300_000_000
# At the top of a root.
SHARED_FOLDERS: Final = (".git", "node_modules", ".venv", "venv")


class CopyImpossible(Exception):
    """Raised where a private copy is impossible; the text says why."""


class PrivateCopy:
    """The copies of the roots of a workspace; `close` removes them."""

    def __init__(self, roots: Sequence[str], left_out: Collection[str]) -> None:
        """Copy the roots without some paths. Blocks; raises `CopyImpossible`."""
        self._left_out = frozenset(left_out)
        self._entries = 0
        self._bytes = 0
        try:
            # By this prefix the next runtime finds and removes the copies of a killed one.
            made = create_locked_directory(f"{TEMP_PREFIX}copy-")
        except OSError as error:
            raise CopyImpossible(f"it cannot be copied: {error.strerror}") from error
        self._path, self._lock = made.path, made.handle
        try:
            self.copies = tuple(self._copy(root, number) for number, root in enumerate(roots))
        except ProblemRaised as raised:
            self.close()
            raise CopyImpossible(raised.problem.message) from raised
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the copies. Blocks; may be called twice."""
        if self._lock >= 0:
            remove_tree(self._path)
            os.close(self._lock)
            self._lock = -1

    def _copy(self, root: str, number: int) -> RootCopy:
        target = self._path / str(number)
        target.mkdir(mode=0o700)
        shared = tuple(
            path
            for name in SHARED_FOLDERS
            if Path(path := f"{root}/{name}").is_dir() and not Path(path).is_symlink()
        )
        passed_over = self._left_out.union(shared)
        copy_tree(root, target, lambda path: path in passed_over or self._count_entry(path))
        return RootCopy(root, str(target), shared)

    def _count_entry(self, path: str) -> bool:
        """Count an entry; raise `CopyImpossible` if the workspace is too large."""
        self._entries += 1
        with suppress(OSError):
            self._bytes += os.lstat(path).st_size
        if self._entries > MAX_ENTRIES:
            raise CopyImpossible(f"it has more than {MAX_ENTRIES:,} files")
        if self._bytes > MAX_BYTES:
            raise CopyImpossible(f"it has more than {MAX_BYTES // 1_000_000} MB")
        return False
