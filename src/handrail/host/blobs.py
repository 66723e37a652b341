"""Old contents by their hash, in files beside the store."""

from __future__ import annotations

import os
from pathlib import Path

from handrail.core.content import Content
from handrail.core.problems import ProblemRaised


class DirectoryBlobs:
    """One file per content, named by its SHA-256; written once, durable, 0600."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, content: Content) -> str:
        """Keep the content; returns its hash. Free if it is kept already."""
        digest = content.digest
        target = self._directory / digest
        if target.exists():
            return digest
        try:
            self._write(target, content)
        except OSError as error:
            raise ProblemRaised(
                "unavailable",
                f"the old content could not be kept in {str(self._directory)!r}: {error.strerror}",
                hint="free some space, or run with journal=false and do without undo",
            ) from error
        return digest

    def load(self, digest: str) -> bytes:
        """The content of a hash; raises `not_found` if it is gone or damaged."""
        try:
            content = Content((self._directory / digest).read_bytes())
        except FileNotFoundError:
            raise ProblemRaised("not_found", f"no content with hash {digest} is kept") from None
        if content.digest != digest:
            raise ProblemRaised("not_found", f"the content kept as {digest} is damaged")
        return content.tobytes()

    def _write(self, target: Path, content: Content) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        temp = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
        descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            for part in content.parts:
                _write_all(descriptor, part)
            os.fsync(descriptor)
            temp.rename(target)
            _sync_directory(self._directory)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)


class MemoryBlobs:
    """The same in memory, for a store that leaves nothing on disk."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def keep(self, content: Content) -> str:
        """Keep the content; returns its hash."""
        self._contents.setdefault(content.digest, content.tobytes())
        return content.digest

    def load(self, digest: str) -> bytes:
        """The content of a hash; raises `not_found`."""
        try:
            return self._contents[digest]
        except KeyError:
            raise ProblemRaised("not_found", f"no content with hash {digest} is kept") from None


def _sync_directory(directory: Path) -> None:
    # Without this the name may be lost with the power, and the content with it.
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, part: bytes | memoryview) -> None:
    view = memoryview(part)
    while view:
        view = view[os.write(descriptor, view) :]
