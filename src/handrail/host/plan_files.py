"""The plan file of a session, kept beside the record and out of every workspace. Tools reach it by
its full path, and nothing near it.
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

    It lies in `directory`, or in a temporary one if that is None. With `keep` False it is removed
    with the session.
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
        # Tools see the plan of the session; recovery and undo those of other sessions too.
        self.files = files.with_beside(self._own)
        self.all_files = files.with_beside(self._any)

    @property
    def path(self) -> str | None:
        """The absolute path; None until there is a directory for the file."""
        return None if self._top is None else f"{self._top}/{self._folder}/{_NAME}"

    def open(self) -> str:
        """Let tools reach the file; returns its path. Raises `unavailable` if that fails."""
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
        """The content; None if the file was not written. Raises `too_large`."""
        if self._top is None:
            return None
        place = self._files.locate_beside(f"{self._folder}/{_NAME}")
        if place.kind is not Kind.FILE:
            return None
        data = self._files.read(place, max_bytes=_MAX_BYTES).content.tobytes()
        return data.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the directory, and remove what no later session can read."""
        top, self._top = self._top, None
        if top is None:
            return
        self._files.close_beside()
        import shutil

        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
        elif not self._keep:
            shutil.rmtree(Path(top) / self._folder, ignore_errors=True)

    def _own(self, path: str) -> str | None:
        """The path beneath the directory, if `path` is the plan of this session."""
        return f"{self._folder}/{_NAME}" if path == self.path else None

    def _any(self, path: str) -> str | None:
        """The path beneath the directory, if `path` lies there."""
        if self._top is None or not path.startswith(f"{self._top}/"):
            return None
        rel = path[len(self._top) + 1 :]
        return None if ".." in rel.split("/") else rel
