"""The plan file of a session, which is stored next to the record, outside every workspace. Tools
can reach this one file by its absolute path, and no other file in its directory.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Final

from handrail.core.places import Kind
from handrail.host.files.local_files import LocalFiles
from handrail.host.state.directories import private_directory

_UNSAFE_CHARS: Final = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_BYTES: Final = 1_000_000
_NAME: Final = "plan.md"


class SessionPlanFile:
    """The plan file of one session.

    The file lies in `directory`, or in a temporary directory if that is None. With `keep` False it
    is removed when the session ends.
    """

    def __init__(
        self, files: LocalFiles, directory: Path | None, session: str, *, keep: bool
    ) -> None:
        digest = sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        self._files = files
        self._directory = directory
        self._folder = f"{_UNSAFE_CHARS.sub('-', session)[:40]}-{digest}"
        self._keep = keep
        self._temporary: Path | None = None
        self._top: str | None = None
        if directory is not None and directory.is_dir():
            self._top = files.open_beside(private_directory(directory))
        # Tools can reach the plan of this session only; recovery and undo also reach those of other
        # sessions.
        self.files = files.with_beside(self._reach_own)
        self.all_files = files.with_beside(self._reach_any)

    @property
    def path(self) -> str | None:
        """The absolute path of the file; None until its directory is open."""
        return None if self._top is None else f"{self._top}/{self._folder}/{_NAME}"

    def open(self) -> str:
        """Open the directory, so that tools can reach the file, and return the file's path. Raises
        `unavailable` if the directory cannot be opened.
        """
        if self._top is None:
            top = self._directory
            if top is None:
                import tempfile

                top = self._temporary = Path(tempfile.mkdtemp(prefix="handrail-plan-"))
            self._top = self._files.open_beside(private_directory(top))
        folder = f"{self._top}/{self._folder}"
        private_directory(Path(folder))
        return f"{folder}/{_NAME}"

    def read(self) -> str | None:
        """Return the content; None if the file was not written yet. Raises `too_large`."""
        if self._top is None:
            return None
        place = self._files.locate_beside(f"{self._folder}/{_NAME}")
        if place.kind is not Kind.FILE:
            return None
        data = self._files.read(place, max_bytes=_MAX_BYTES).content.tobytes()
        return data.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the directory; remove the file if no later session can read it."""
        top, self._top = self._top, None
        if top is None:
            return
        self._files.close_beside()
        import shutil

        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
        elif not self._keep:
            shutil.rmtree(Path(top) / self._folder, ignore_errors=True)

    def _reach_own(self, path: str) -> str | None:
        """Return the path relative to the directory if `path` is the plan of this session."""
        return f"{self._folder}/{_NAME}" if path == self.path else None

    def _reach_any(self, path: str) -> str | None:
        """Return the path relative to the directory if `path` lies in it."""
        if self._top is None or not path.startswith(f"{self._top}/"):
            return None
        rel = path[len(self._top) + 1 :]
        return None if ".." in rel.split("/") else rel
