"""What protected files held before a command: small ones in memory, large ones as private
copies. A file whose stat did not change is not read again.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from handrail.host.files.paths.openat2 import READ
from handrail.host.sandbox.protected.copies import PrivateCopies, file_digest

_SMALL: Final = 1 << 20
_IN_MEMORY: Final = 32 << 20
_COPIED: Final = 256 << 20
# A change within one tick of the clock leaves no trace in the time stamps.
_COARSE_NS: Final = 20_000_000

Identity = tuple[int, int, int, int, int]


class FileImage(NamedTuple):
    """The content of a file, or the target of a link. `settled`: an equal stat proves it.

    Held in `data`, or as a private copy named `digest`, or (neither) known by its stat only.
    """

    identity: Identity
    settled: bool
    data: bytes | None = None
    digest: str | None = None

    @property
    def held(self) -> bool:
        """Whether the content can be put back."""
        return self.data is not None or self.digest is not None

    def proves(self, info: os.stat_result) -> bool:
        """Whether this stat alone shows that the content is still the same."""
        return (self.settled or not self.held) and self.identity == file_identity(info)


class ImageCache:
    """The contents of protected files, remembered from one command to the next."""

    def __init__(self, directory: Path) -> None:
        self._copies = PrivateCopies(directory / "copies")
        self._known: dict[tuple[int, int], FileImage] = {}
        self._in_memory = 0
        self._copied = 0
        self._lock = Lock()

    def recall(self, info: os.stat_result) -> FileImage | None:
        """The image of a file or link that did not change since it was taken."""
        known = self._known.get((info.st_dev, info.st_ino))
        return known if known is not None and known.held and known.proves(info) else None

    def take(self, handle: int, name: str, info: os.stat_result) -> FileImage:
        """The image of a file or link in an open directory."""
        image = unread(info)
        with self._lock:
            # Not to be read, or changing meanwhile: known by its stat alone.
            with suppress(OSError):
                image = self._content(handle, name, info, image)
            self._remember(image)
            return image

    def keep_only(self, images: Iterable[FileImage]) -> None:
        """Forget all others, so that memory holds no more than one snapshot needs."""
        with self._lock:
            self._known, self._in_memory, self._copied = {}, 0, 0
            for image in images:
                self._remember(image)

    def same(self, image: FileImage, handle: int, name: str, info: os.stat_result) -> bool:
        """Whether the file or link still holds what it held; raises OSError."""
        if image.proves(info):
            return True
        if info.st_size != image.identity[2] or not image.held:
            return False
        if stat.S_ISLNK(info.st_mode):
            return os.fsencode(os.readlink(name, dir_fd=handle)) == image.data
        with _opened(handle, name) as descriptor:
            if image.data is not None:
                return os.read(descriptor, info.st_size + 1) == image.data
            return file_digest(descriptor) == image.digest

    def parts(self, image: FileImage) -> Iterator[bytes]:
        """The content in pieces; raises OSError if it was not kept, or is damaged."""
        if image.data is not None:
            return iter((image.data,))
        if image.digest is not None:
            return self._copies.parts(image.digest)
        raise OSError(errno.ENODATA, "the content was not kept")

    def _content(self, handle: int, name: str, info: os.stat_result, bare: FileImage) -> FileImage:
        if stat.S_ISLNK(info.st_mode):
            return bare._replace(data=os.fsencode(os.readlink(name, dir_fd=handle)))
        size = info.st_size
        with _opened(handle, name) as descriptor:
            if size <= _SMALL and self._in_memory + size <= _IN_MEMORY:
                image = bare._replace(data=os.read(descriptor, size + 1))
            elif self._copied + size <= _COPIED:
                needed = {one.digest for one in self._known.values() if one.digest}
                image = bare._replace(digest=self._copies.keep(descriptor, size, needed))
            else:
                return bare
            if file_identity(os.fstat(descriptor)) != bare.identity:
                raise OSError(errno.ESTALE, "it changed since the look")
            return image

    def _remember(self, image: FileImage) -> None:
        self._known[image.identity[:2]] = image
        if image.data is not None:
            self._in_memory += len(image.data)
        elif image.digest is not None:
            self._copied += image.identity[2]


def file_identity(info: os.stat_result) -> Identity:
    """What changes whenever a file does, except within one tick of the clock."""
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def unread(info: os.stat_result) -> FileImage:
    """An image of which only the stat is known."""
    return FileImage(file_identity(info), info.st_ctime_ns < time.time_ns() - _COARSE_NS)


@contextmanager
def _opened(handle: int, name: str) -> Iterator[int]:
    """A regular file in an open directory, for reading; anything else raises OSError."""
    descriptor = os.open(name, READ | os.O_NOFOLLOW, dir_fd=handle)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)
