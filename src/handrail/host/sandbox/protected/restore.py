"""Restores entries at protected names, through open directories only.

A directory in the path can be replaced by a link at any moment, so each step opens one name beneath
a handle, and an entry is built under a temporary name before it is put in place.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from handrail.core.plan import temp_name
from handrail.host.files.directory import exchange, rename_new
from handrail.host.files.root_identity import RootHandle, lstat_at
from handrail.host.files.roots import LOOK_IN
from handrail.host.sandbox.protected.baseline import (
    BaselineEntry,
    ImageCache,
    RootBaseline,
    path_prefixes,
)
from handrail.host.sandbox.protected.quarantine import (
    Quarantine,
    handle_path,
    set_mode,
    writable_folder,
)

_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ENTER: Final = LOOK_IN | os.O_NOFOLLOW


@dataclass(eq=False)
class EntryRestorer:
    """Restores entries of one root; entries in the way are moved to the quarantine."""

    view: RootBaseline
    tops: Sequence[RootHandle]
    images: ImageCache
    quarantine: Quarantine

    def taken_by_others(self) -> AbstractSet[str]:
        """Return the entries that the repair of another command has moved away since: they appeared
        while that command ran, and must not be restored.
        """
        taken = self.quarantine.taken_by_others()
        return {
            rel
            for rel, seen in self.view.entries.items()
            if (seen.info.st_dev, seen.info.st_ino) in taken
        }

    def take_away(self, rel: str) -> str:
        """Move an entry to the quarantine; returns its path there. Raises OSError."""
        with self._parent(rel, make=False) as (handle, name):
            return self.quarantine.take(handle, name)

    def put_back(self, rel: str) -> str | None:
        """Restore one entry; returns the quarantine path of the command's version. Raises OSError."""
        seen = self.view.entries[rel]
        with self._parent(rel, make=True) as (handle, name), writable_folder(handle):
            if stat.S_ISDIR(seen.info.st_mode):
                return self._put_folder(handle, name, seen.info)
            temp = temp_name(os.urandom(8).hex(), 0)
            try:
                self._write(handle, temp, seen)
            except OSError:
                with suppress(FileNotFoundError):
                    os.unlink(temp, dir_fd=handle)
                # An entry that cannot be restored is removed anyway, because it could be executed.
                if lstat_at(handle, name) is not None:
                    self.quarantine.take(handle, name)
                raise
            return self._switch(handle, temp, name)

    def bring_back(self, rel: str) -> str | None:
        """Move a directory back to its name from elsewhere below a root.

        Returns the quarantine path of the entry in its place, if there was one. Raises OSError;
        FileNotFoundError if the directory is in no root.
        """
        held = self.view.held[rel]
        at = self.moved_to(rel)
        if at is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        temp = temp_name(os.urandom(8).hex(), 0)
        with (
            at[0].open_parent(at[1]) as (source, now),
            self._parent(rel, make=True) as (handle, name),
        ):
            if not _is_same(source, now, held):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            # First next to its name: the directory may lie inside the entry that occupies its name.
            with writable_folder(source), writable_folder(handle):
                os.rename(now, temp, src_dir_fd=source, dst_dir_fd=handle)
                in_the_way = lstat_at(handle, name) is not None
                kept = self.quarantine.take(handle, name) if in_the_way else None
                rename_new(handle, temp, name)
            return kept

    def moved_to(self, rel: str) -> tuple[RootHandle, str] | None:
        """Return the current path of a held directory in a root or the quarantine, or None."""
        held = self.view.held.get(rel)
        path = handle_path(held) if held is not None else None
        if path is None:
            return None
        aside = self.quarantine.top
        for top in (*self.tops, aside) if aside is not None else self.tops:
            base = handle_path(top.handle)
            if base is not None and path.startswith(f"{base.rstrip('/')}/"):
                return top, path[len(base.rstrip("/")) + 1 :]
        return None

    @contextmanager
    def _parent(self, rel: str, *, make: bool) -> Iterator[tuple[int, str]]:
        """Open the directory of an entry; yield its handle and the entry's name."""
        handle = os.dup(self.view.top.handle)
        try:
            for above in path_prefixes(rel)[:-1]:
                below = self._enter(handle, above, make=make)
                os.close(handle)
                handle = below
            yield handle, rel.rpartition("/")[2]
        finally:
            os.close(handle)

    def _enter(self, handle: int, rel: str, *, make: bool) -> int:
        name = rel.rpartition("/")[2]
        info = lstat_at(handle, name)
        if make and (info is None or not stat.S_ISDIR(info.st_mode)):
            if info is not None:
                self.quarantine.take(handle, name)
            seen = self.view.entries.get(rel)
            like = seen.info if seen is not None else self.view.ways.get(rel)
            with writable_folder(handle):
                _make_folder(handle, name, like)
        return os.open(name, _ENTER, dir_fd=handle)

    def _put_folder(self, handle: int, name: str, like: os.stat_result) -> str | None:
        info, kept = lstat_at(handle, name), None
        if info is not None and not stat.S_ISDIR(info.st_mode):
            kept = self.quarantine.take(handle, name)
            info = None
        if info is None:
            _make_folder(handle, name, like)
        else:
            _apply_attributes(handle, name, like)
        return kept

    def _write(self, handle: int, temp: str, seen: BaselineEntry) -> None:
        if seen.image is None:
            raise OSError(errno.ENOTSUP, "neither a file nor a link")
        parts = self.images.parts(seen.image)
        if stat.S_ISLNK(seen.info.st_mode):
            os.symlink(b"".join(parts), temp, dir_fd=handle)
            return
        descriptor = os.open(temp, _CREATE, 0o600, dir_fd=handle)
        try:
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[os.write(descriptor, view) :]
            with suppress(PermissionError):
                os.fchown(descriptor, seen.info.st_uid, seen.info.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(seen.info.st_mode))
        finally:
            os.close(descriptor)

    def _switch(self, handle: int, temp: str, name: str) -> str | None:
        if lstat_at(handle, name) is None:
            rename_new(handle, temp, name)
            return None
        if exchange(handle, temp, name):
            return self.quarantine.take(handle, temp, name)
        kept = self.quarantine.take(handle, name)
        rename_new(handle, temp, name)
        return kept


def _make_folder(handle: int, name: str, like: os.stat_result | None) -> None:
    os.mkdir(name, 0o700 if like is not None else 0o777, dir_fd=handle)
    if like is not None:
        _apply_attributes(handle, name, like)


def _apply_attributes(handle: int, name: str, like: os.stat_result) -> None:
    inside = os.open(name, _ENTER, dir_fd=handle)
    try:
        # Only root may change the owner; otherwise the writing user owns the copy.
        with suppress(PermissionError):
            os.chown(name, like.st_uid, like.st_gid, dir_fd=handle, follow_symlinks=False)
        set_mode(inside, stat.S_IMODE(like.st_mode))
    finally:
        os.close(inside)


def _is_same(handle: int, name: str, held: int) -> bool:
    info = lstat_at(handle, name)
    return info is not None and os.path.samestat(info, os.fstat(held))
