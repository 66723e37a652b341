"""Changing a file in one visible step: a temp file beside it, then a rename.

The parent's handle stays open from staging to the end, so that what was prepared is what is
published. Nothing here follows a symlink, and no file is ever written in place.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from handrail.core.content import Content
from handrail.core.plan import Change
from handrail.core.problems import ProblemRaised
from handrail.host.files.errors import explain, not_regular, quoted
from handrail.host.files.openat2 import READ, rename_new
from handrail.host.files.parents import Parent
from handrail.host.files.reading import stat_of
from handrail.host.files.roots import Roots
from handrail.host.files.temp import Likeness, Temp, write_temp, written

_COMPARED_AT_ONCE: Final = 256 * 1024


class StagedChange:
    """One change made ready; implements `Staged`."""

    def __init__(self, roots: Roots, change: Change, *, durable: bool, break_links: bool) -> None:
        self._change = change
        self._durable = durable
        self._break_links = break_links
        self._temp: Temp | None = None
        self._visible = False
        with _explained(change.path):
            self._parent = Parent(
                roots, change.place, create=change.after is not None, durable=durable
            )
            try:
                self._old = self._checked()
                if change.after is not None:
                    self._temp = self._write(change.after, mode=change.mode)
            except BaseException:
                self.discard()
                raise

    def publish(self) -> None:
        """Make it visible in one step; raises `stale` if the target is not what was seen."""
        with _explained(self._change.path):
            if not self._parent.is_current():
                raise _stale(self._change, "its directory was moved or replaced")
            self._checked()
            self._switch(self._temp, new=self._change.before is None)
            self._visible = True
            try:
                self._sync()
            except OSError:
                self.revert()
                raise

    def revert(self) -> None:
        """Put the old content back; raises `conflict` if somebody changed the file since."""
        if not self._visible:
            return
        with _explained(self._change.path):
            self._ours()
            if self._change.before is None:
                os.unlink(self._parent.name, dir_fd=self._parent.handle)
                self._parent.remove_made()
            else:
                self._put_back(self._change.before)
            self._visible = False
            self._sync()

    def discard(self) -> None:
        """Remove what staging left behind; safe to call at any time, and twice."""
        if self._parent.handle < 0:
            return
        if self._temp is not None and not self._visible:
            with suppress(OSError):
                os.unlink(self._temp.name, dir_fd=self._parent.handle)
        if not self._visible:
            self._parent.remove_made()
        self._parent.close()

    def _write(self, content: Content, *, mode: int | None) -> Temp:
        like = Likeness(self._parent.name, self._old, mode)
        return write_temp(self._parent.handle, content, like, durable=self._durable)

    def _put_back(self, content: Content) -> None:
        back = self._write(content, mode=None)
        try:
            self._switch(back, new=self._change.after is None)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(back.name, dir_fd=self._parent.handle)
            raise

    def _switch(self, temp: Temp | None, *, new: bool) -> None:
        handle, name = self._parent.handle, self._parent.name
        if temp is None:
            os.unlink(name, dir_fd=handle)
        elif new:
            try:
                rename_new(handle, temp.name, name)
            except FileExistsError:
                raise _stale(self._change, "another file of that name appeared") from None
        else:
            os.rename(temp.name, name, src_dir_fd=handle, dst_dir_fd=handle)

    def _checked(self) -> os.stat_result | None:
        """The target's stat, if it is what the plan saw and may be replaced."""
        change = self._change
        info = lstat(self._parent)
        if change.before is None and info is not None and not stat.S_ISREG(info.st_mode):
            raise not_regular(info.st_mode, change.path)
        if not is_unchanged(self._parent, info, change):
            raise _stale(change, _what_happened(change, info))
        if info is not None and info.st_nlink > 1 and change.after is not None:
            self._check_links()
        return info

    def _check_links(self) -> None:
        if not self._break_links:
            raise ProblemRaised(
                "conflict",
                f"{quoted(self._change.path)} has other names (hard links), whose content a "
                "write would either change too or part from it",
                hint="write to another path; a person may allow it with break_hard_links = true",
            )

    def _ours(self) -> None:
        info = lstat(self._parent)
        expected = self._temp.written if self._temp is not None else None
        if (written(info) if info is not None else None) != expected:
            raise ProblemRaised(
                "conflict", f"{quoted(self._change.path)} was changed by somebody else meanwhile"
            )

    def _sync(self) -> None:
        if self._durable:
            os.fsync(self._parent.handle)


def lstat(parent: Parent) -> os.stat_result | None:
    """What stands at the place, without following a link; None if nothing does."""
    try:
        return os.stat(parent.name, dir_fd=parent.handle, follow_symlinks=False)
    except FileNotFoundError:
        return None


def is_unchanged(parent: Parent, info: os.stat_result | None, change: Change) -> bool:
    """Whether the target is what the plan saw: by its stat if that proves it, else its bytes."""
    if info is None or change.before is None:
        return info is None and change.before is None
    if not stat.S_ISREG(info.st_mode) or info.st_size != change.before.size:
        return False
    seen = change.seen
    if seen is not None and seen.settled and seen.same_as(stat_of(info)):
        return True
    descriptor = os.open(parent.name, READ | os.O_NOFOLLOW, dir_fd=parent.handle)
    try:
        return _holds(descriptor, change.before)
    finally:
        os.close(descriptor)


def _holds(descriptor: int, content: Content) -> bool:
    for part in content.parts:
        view = memoryview(part).cast("B")
        while view:
            data = os.read(descriptor, min(len(view), _COMPARED_AT_ONCE))
            if not data or view[: len(data)] != data:
                return False
            view = view[len(data) :]
    return not os.read(descriptor, 1)


def _what_happened(change: Change, info: os.stat_result | None) -> str:
    if info is None:
        return "it is gone"
    if change.before is None:
        return "a file of that name exists by now"
    return "it is no longer what it was"


def _stale(change: Change, why: str) -> ProblemRaised:
    return ProblemRaised(
        "stale",
        f"{quoted(change.path)} was changed by somebody else: {why}",
        hint="read the file again and redo the change on what it is now",
    )


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise explain(error, path) from error
