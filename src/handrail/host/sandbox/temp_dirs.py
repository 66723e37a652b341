"""The private temporary directory that the commands of one runtime share as /tmp.

It is removed when the sandbox is closed. A runtime holds a lock on its directory, so directories
of killed runtimes are recognised and removed by the next one.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from handrail.host.files.locked_directory import (
    create_locked_directory,
    remove_abandoned_directories,
    remove_tree,
)

TEMP_PREFIX: Final = "handrail-tmp-"


class TempDirectory:
    """A temporary directory, created when needed; or `lasting`, which is never removed."""

    def __init__(self, lasting: Path | None = None) -> None:
        self._lasting = lasting
        self._path: str | None = None
        self._lock = -1

    @property
    def path(self) -> str:
        """The directory; raises OSError if it cannot be created."""
        if self._lasting is not None:
            self._lasting.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.path.realpath(self._lasting)
        if self._path is None:
            remove_abandoned_directories(TEMP_PREFIX, Path(tempfile.gettempdir()))
            made = create_locked_directory(TEMP_PREFIX)
            self._path, self._lock = str(made.path), made.handle
        return self._path

    def close(self) -> None:
        """Remove the directory and its content; may be called twice."""
        if self._path is None:
            return
        remove_tree(Path(self._path))
        os.close(self._lock)
        self._path = None
