"""A directory that is written next to its target and then renamed to it, so that it appears
complete or not at all.

Existing content of the target is never removed. If the process is killed, only the hidden directory
is left; the next copy into the same parent removes it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.host.files import messages
from handrail.host.files.locked_directory import (
    create_locked_directory,
    remove_abandoned_directories,
    remove_tree,
)

_PREFIX: Final = ".handrail-copy-"
_OCCUPIED: Final = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


class StagedCopy:
    """A hidden directory `path` that `publish` renames to `target`. Blocks."""

    def __init__(self, directory: Path, roots: Collection[str]) -> None:
        """Create the hidden directory for a target that is empty or does not exist. Raises
        `invalid_arguments` if the target lies in one of the roots or is the current directory,
        `exists` if it is not empty, `unavailable` on a disk error.
        """
        try:
            self.target = directory.expanduser().resolve()
            self._check_target(roots)
            parent = self.target.parent
            parent.mkdir(parents=True, exist_ok=True)
            remove_abandoned_directories(_PREFIX, parent)
            self.path, self._lock = create_locked_directory(_PREFIX, parent)
        except (FileExistsError, NotADirectoryError):
            raise messages.COPY_NOT_EMPTY.error(path=str(directory), field="into") from None
        except (OSError, RuntimeError) as error:
            raise messages.COPY_FAILED.error(path=str(directory), reason=error) from error

    def publish(self) -> None:
        """Rename the hidden directory to the target. Raises `exists` if the target is no longer
        empty, `unavailable` on a disk error.
        """
        try:
            # Renaming replaces an empty directory, and fails for anything else.
            self.path.rename(self.target)
        except OSError as error:
            if error.errno in _OCCUPIED:
                raise messages.COPY_NOT_EMPTY.error(path=str(self.target), field="into") from None
            raise messages.COPY_FAILED.error(path=str(self.target), reason=error) from error
        self._unlock()

    def close(self) -> None:
        """Remove a directory that was not published; may be called twice."""
        if self._lock >= 0:
            with suppress(OSError):
                self.path.chmod(0o700)
            remove_tree(self.path)
            self._unlock()

    def _check_target(self, roots: Collection[str]) -> None:
        path = str(self.target)
        if any(self.target.is_relative_to(root) for root in roots):
            raise messages.COPY_INTO_ITSELF.error(path=path, field="into")
        if not os.path.lexists(self.target):
            return
        if any(self.target.iterdir()):
            raise messages.COPY_NOT_EMPTY.error(path=path, field="into")
        if self.target == Path.cwd():
            # The user's shell would be left in a directory that no longer exists.
            raise messages.COPY_INTO_CURRENT.error(path=path, field="into")

    def _unlock(self) -> None:
        os.close(self._lock)
        self._lock = -1
