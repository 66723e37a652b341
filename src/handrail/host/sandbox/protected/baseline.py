"""The state of protected names before a command, one per root, with copies of their content."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final, Literal, NamedTuple

from handrail.host.files.reading import is_settled
from handrail.host.files.root_identity import RootHandle
from handrail.host.files.roots import READ
from handrail.host.sandbox.protected.name_table import CommandAllowances
from handrail.host.sandbox.protected.scan import ProtectedHit
from handrail.host.snapshots.content_store import ContentStore, hash_file
from handrail.host.snapshots.entries import Signature, file_signature
from handrail.host.state.directories import private_directory

_SMALL: Final = 1 << 20
_IN_MEMORY: Final = 32 << 20
_COPIED: Final = 256 << 20
# The limit for the bytes of all private copies, including those of earlier commands.
_QUOTA: Final = 512 << 20


class FileImage(NamedTuple):
    """The content of a file, or the target of a link."""

    signature: Signature
    # Whether an equal signature proves that the content is unchanged.
    settled: bool
    # The content, if it is kept in memory.
    data: bytes | None = None
    # The hash of the content, if it is kept as a private copy.
    digest: str | None = None

    @property
    def held(self) -> bool:
        """Whether the content can be restored."""
        return self.data is not None or self.digest is not None

    def proves(self, info: os.stat_result) -> bool:
        """Whether this stat alone shows that the content is unchanged."""
        return (self.settled or not self.held) and self.signature == file_signature(info)

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.signature[3]


class ImageCache:
    """The contents of protected files, kept from one command to the next."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "copies"
        self._copies = ContentStore(self._directory)
        self._known: dict[tuple[int, int], FileImage] = {}
        self._in_memory = 0
        self._copied = 0
        self._lock = Lock()

    def recall(self, info: os.stat_result) -> FileImage | None:
        """Return the image of an unchanged file or link; None if there is none."""
        known = self._known.get((info.st_dev, info.st_ino))
        return known if known is not None and known.held and known.proves(info) else None

    def take(self, handle: int, name: str, info: os.stat_result) -> FileImage:
        """Read the image of a file or link in an open directory."""
        image = unread(info)
        with self._lock:
            # Unreadable, or changing while it was read: only the signature is known.
            with suppress(OSError):
                image = self._content(handle, name, info, image)
            self._remember(image)
            return image

    def keep_only(self, images: Iterable[FileImage]) -> None:
        """Drop all other images, so that memory holds one baseline at most."""
        with self._lock:
            self._known, self._in_memory, self._copied = {}, 0, 0
            for image in images:
                self._remember(image)

    def same(self, image: FileImage, handle: int, name: str, info: os.stat_result) -> bool:
        """Return whether a file or link still has this content; raises OSError."""
        if image.proves(info):
            return True
        if info.st_size != image.size or not image.held:
            return False
        if stat.S_ISLNK(info.st_mode):
            return os.fsencode(os.readlink(name, dir_fd=handle)) == image.data
        with _opened(handle, name) as descriptor:
            if image.data is not None:
                return os.read(descriptor, info.st_size + 1) == image.data
            return hash_file(descriptor) == image.digest

    def parts(self, image: FileImage) -> Iterator[bytes]:
        """Yield the content in pieces; raises OSError if it was not kept or is damaged."""
        if image.data is not None:
            return iter((image.data,))
        if image.digest is not None:
            return self._copies.read_parts(image.digest)
        raise OSError(errno.ENODATA, "the content was not kept")

    def _content(self, handle: int, name: str, info: os.stat_result, bare: FileImage) -> FileImage:
        if stat.S_ISLNK(info.st_mode):
            return bare._replace(data=os.fsencode(os.readlink(name, dir_fd=handle)))
        size = info.st_size
        with _opened(handle, name) as descriptor:
            if size <= _SMALL and self._in_memory + size <= _IN_MEMORY:
                image = bare._replace(data=os.read(descriptor, size + 1))
            elif self._copied + size <= _COPIED:
                image = bare._replace(digest=self._copy(descriptor, size))
            else:
                return bare
            if file_signature(os.fstat(descriptor)) != bare.signature:
                raise OSError(errno.ESTALE, "the file changed while it was read")
            return image

    def _copy(self, descriptor: int, size: int) -> str:
        private_directory(self._directory)
        digest = self._copies.take(descriptor, size)
        needed = {one.digest for one in self._known.values() if one.digest}
        self._copies.evict(_QUOTA, needed | {digest})
        return digest

    def _remember(self, image: FileImage) -> None:
        self._known[image.signature[5], image.signature[2]] = image
        if image.data is not None:
            self._in_memory += len(image.data)
        elif image.digest is not None:
            self._copied += image.size


def unread(info: os.stat_result) -> FileImage:
    """Return an image without content."""
    return FileImage(file_signature(info), is_settled(info.st_ctime_ns))


@contextmanager
def _opened(handle: int, name: str) -> Iterator[int]:
    """Open a regular file for reading; raises OSError for anything else."""
    descriptor = os.open(name, READ | os.O_NOFOLLOW, dir_fd=handle)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


What = Literal["changed", "created", "removed", "replaced", "unchecked"]


class RepairedEntry(NamedTuple):
    """A protected name that was changed, or a directory that could not be checked because the
    command created too many entries (`what` is "unchecked").

    `kept` is the path of the command's version in the quarantine, None if there was none.
    `restored` is False if the former state could not be restored completely.
    """

    path: str
    what: What
    kept: str | None
    restored: bool = True


class BaselineEntry(NamedTuple):
    """An entry before the command; `image` is None for anything but files and links."""

    info: os.stat_result
    image: FileImage | None


@dataclass(frozen=True, slots=True)
class RootBaseline:
    """The protected names of one root before a command, by path beneath the root."""

    top: RootHandle
    entries: Mapping[str, BaselineEntry]
    # Git's own directories.
    git: frozenset[str]
    # Operations that git has begun in them, such as a rebase, which a command may finish.
    pending: frozenset[str]
    # Ordinary directories that contain entries.
    ways: Mapping[str, os.stat_result]
    # Open handles of directories, to find them after a move and to keep their inode from reuse.
    held: Mapping[str, int]
    aliases: Sequence[ProtectedHit]
    # Paths that are not entered: hidden ones and other roots.
    skipped: frozenset[str]
    # Directories that were not listed.
    left: frozenset[str]
    # Names that contain more entries than were recorded.
    cut: frozenset[str]
    # The `HEAD` files of repositories in directories of any name.
    repositories: frozenset[str] = frozenset()

    def absolute(self, rel: str) -> str:
        """The absolute path."""
        return self.top.absolute(rel)

    def beneath(self, rel: str) -> Iterator[str]:
        """Return the entry and all entries below it, upper ones first."""
        inside = f"{rel}/"
        return (one for one in self.entries if one == rel or one.startswith(inside))


@dataclass(slots=True)
class ProtectedBaseline:
    """The baselines of all roots before a command. `partial` are paths that could not be checked;
    `unchecked` are those of them in roots that could be checked completely before the command.
    """

    views: Sequence[RootBaseline]
    allowed: CommandAllowances
    partial: list[str]
    unchecked: dict[str, None] = field(default_factory=dict)
    _open: bool = True

    def leave(self, path: str) -> None:
        """Exclude a path from the repair, because a tool was allowed to change it."""
        for view in self.views:
            if path.startswith(view.top.prefix):
                lifted = self.allowed.lifted.with_path(path.removeprefix(view.top.prefix))
                self.allowed = self.allowed._replace(lifted=lifted)

    def close(self) -> None:
        """Close the handles; may be called twice."""
        if not self._open:
            return
        self._open = False
        for view in self.views:
            for handle in view.held.values():
                with suppress(OSError):
                    os.close(handle)

    def __del__(self) -> None:
        self.close()


def path_prefixes(rel: str) -> list[str]:
    """Return the path and all directories above it, uppermost first: a, a/b, a/b/c."""
    parts = rel.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
