"""A link, or another name of a file, that is about to take its place, under a temp name."""

from __future__ import annotations

import os
import stat

from handrail.core.content import Content
from handrail.core.places import Place
from handrail.host.files.openat2 import LOOK_IN, READ
from handrail.host.files.reading import holds
from handrail.host.files.roots import Roots
from handrail.host.files.temp import Written, written


class TempLink:
    """A new link in a directory; nothing of it is there before `appear`."""

    def __init__(self, handle: int, name: str, target: Content) -> None:
        self._handle = handle
        self._name = name
        self._target = target.tobytes()
        self.named = False

    def appear(self, *, durable: bool) -> Written:
        """Make it under its temp name; returns what bears that name."""
        del durable  # A link is in its directory, which the caller writes through.
        os.symlink(self._target, os.fsencode(self._name), dir_fd=self._handle)
        self.named = True
        return written(os.stat(self._name, dir_fd=self._handle, follow_symlinks=False))

    def close(self) -> None:
        """There is no handle to let go of."""


class LinkedTemp:
    """A temp name that is another name of a file, and nothing more."""

    named = True

    def appear(self, *, durable: bool) -> Written:
        """It is there already."""
        raise NotImplementedError(f"a name appears once (durable={durable})")

    def close(self) -> None:
        """There is no handle to let go of."""


def link_to(roots: Roots, place: Place, handle: int, name: str, content: Content) -> Written | None:
    """Give the file at a place a second name in a directory, if it holds just this content;
    None if it does not, is not there, or the file system cannot.
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
    # What was linked is what counts, whoever exchanged it before that.
    made = _written_if_same(handle, name, content)
    if made is None:
        os.unlink(name, dir_fd=handle)
    return made


def _written_if_same(handle: int, name: str, content: Content) -> Written | None:
    info = os.stat(name, dir_fd=handle, follow_symlinks=False)
    if not stat.S_ISREG(info.st_mode) or info.st_size != content.size:
        return None
    try:
        descriptor = os.open(name, READ | os.O_NOFOLLOW, dir_fd=handle)
    except OSError:
        return None
    try:
        same = holds(descriptor, content)
    finally:
        os.close(descriptor)
    return written(info) if same else None
