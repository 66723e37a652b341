"""New symbolic links in the directory of a change, and new hard links to an existing file.

Both classes have the interface of `directory.TempFile`.
"""

from __future__ import annotations

import os
import stat

from handrail.core.places import Place
from handrail.core.text.content import Content
from handrail.host.files.directory import FileFingerprint, file_fingerprint
from handrail.host.files.reading import content_equals
from handrail.host.files.roots import LOOK_IN, READ, Roots


class TempLink:
    """A new symbolic link in a directory, created by `appear`."""

    def __init__(self, handle: int, name: str, target: Content) -> None:
        self._handle = handle
        self._name = name
        self._target = target.tobytes()
        self.named = False

    def appear(self, *, durable: bool) -> FileFingerprint:
        """Create the link under its temporary name; return its fingerprint."""
        del durable  # Syncing the directory, which the caller does, also writes the link.
        os.symlink(self._target, os.fsencode(self._name), dir_fd=self._handle)
        self.named = True
        return file_fingerprint(os.stat(self._name, dir_fd=self._handle, follow_symlinks=False))

    def close(self) -> None:
        """Do nothing: there is no handle."""


class LinkedTemp:
    """A temporary name that is a hard link to another file."""

    named = True

    def appear(self, *, durable: bool) -> FileFingerprint:
        """Raise: the name exists from the beginning."""
        raise NotImplementedError(f"a name appears once (durable={durable})")

    def close(self) -> None:
        """Do nothing: there is no handle."""


def link_to(
    roots: Roots, place: Place, handle: int, name: str, content: Content
) -> FileFingerprint | None:
    """Hard-link the file at a place into a directory if it has exactly this content. Returns None
    if the content differs, the file is missing, or the file system has no hard links.
    """
    above, _, last = place.rel.rpartition("/")
    try:
        folder = roots.open(place._replace(rel=above), LOOK_IN)
    except OSError:
        return None
    try:
        os.link(last, name, src_dir_fd=folder, dst_dir_fd=handle, follow_symlinks=False)
    except OSError:
        return None
    finally:
        os.close(folder)
    # The check is made on the link, so it holds even if the place was changed meanwhile.
    made = _written_if_same(handle, name, content)
    if made is None:
        os.unlink(name, dir_fd=handle)
    return made


def _written_if_same(handle: int, name: str, content: Content) -> FileFingerprint | None:
    info = os.stat(name, dir_fd=handle, follow_symlinks=False)
    if not stat.S_ISREG(info.st_mode) or info.st_size != content.size:
        return None
    try:
        descriptor = os.open(name, READ | os.O_NOFOLLOW, dir_fd=handle)
    except OSError:
        return None
    try:
        same = content_equals(descriptor, content)
    finally:
        os.close(descriptor)
    return file_fingerprint(info) if same else None
