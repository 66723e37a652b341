"""Changes a file in one visible step: a temporary file in the same directory, then a rename.

The parent directory's handle stays open from staging to the end, so that the prepared file is the
one that is published. No link is followed, and no file is written in place.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from handrail.core.places import Form
from handrail.core.plan import Change, temp_name
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.host.files.directory import (
    FileFingerprint,
    Parent,
    TempAttributes,
    TempFile,
    WaitForIntent,
    exchange,
    file_fingerprint,
    remove_name,
    rename_new,
    write_temp,
)
from handrail.host.files.errors import not_regular_problem, problem_from_oserror, quoted
from handrail.host.files.locate import read_link_target
from handrail.host.files.messages import CHANGED_MEANWHILE, CHANGED_SINCE_READ, HARD_LINKS
from handrail.host.files.reading import content_equals, describes
from handrail.host.files.roots import READ, Roots
from handrail.host.files.temp_links import LinkedTemp, TempLink, link_to

# Above this size, freeing the space takes so long that it is done later.
_LARGE: Final = 64 * 1024
# Only Linux has O_PATH.
_HOLD: Final = getattr(os, "O_PATH", None)


class StagedChange:
    """One prepared change; implements `StagedFile`.

    Before `publish` the new content has no name, or a temporary one where the file system requires
    a name. Afterwards the replaced or deleted file has the temporary name: it can be restored
    without writing, and recovery finds it after a crash. `wait_for_intent` is called before
    anything appears in the directory.
    """

    def __init__(
        self,
        roots: Roots,
        change: Change,
        temp: str | None,
        *,
        durable: bool,
        break_links: bool,
        wait_for_intent: WaitForIntent,
    ) -> None:
        self._roots = roots
        self._change = change
        self._wait_for_intent = wait_for_intent
        self._temp = temp or temp_name(os.urandom(8).hex(), 0)
        self._durable = durable
        self._break_links = break_links
        self._new: FileFingerprint | None = None
        self._file: TempFile | TempLink | LinkedTemp | None = None
        self._visible = False
        self._aside = False
        # The unlinked old file, kept open: closing the handle frees its space.
        self._removed = -1
        # The second name of the old file, kept until its first name is known to be back.
        self._spare: str | None = None
        with problems_for(change.place.path):
            self._parent = Parent(
                roots,
                change.place,
                wait_for_intent if change.after is not None else None,
                durable=durable,
            )
            try:
                self._old = self._checked_stat()
                if change.after is not None:
                    self._write(change.after)
            except BaseException:
                self.discard()
                raise

    def publish(self) -> None:
        """Publish the change in one step; raises `stale` if the target is not what the plan read."""
        self._wait_for_intent()
        with problems_for(self._change.place.path):
            if not self._parent.is_current():
                raise stale_problem(self._change, "its directory was moved or replaced")
            self._old = self._checked_stat()
            if self._file is not None:
                self._new = self._link_to_same() or self._file.appear(durable=self._durable)
            self._switch()
            self._visible = True
            try:
                self._check_replaced()
                self._sync()
            except (OSError, ProblemRaised):
                self.revert()
                raise

    def keep_old(self, destination: str) -> bool:
        """Move the replaced file to another path; False if there is none or it cannot be moved."""
        if not self._aside or not _is_exclusive(self._temp, self._parent.handle):
            return False
        try:
            os.rename(self._temp, destination, src_dir_fd=self._parent.handle)
        except OSError as error:
            if error.errno in (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EROFS):
                return False
            raise problem_from_oserror(error, self._change.place.path) from error
        self._aside = False
        return True

    def revert(self) -> None:
        """Restore the old content; raises `conflict` if the file was changed since. May be called
        again after a failure.
        """
        if self._spare is not None:
            with problems_for(self._change.place.path):
                self._restore_spare(self._spare)
        if not self._visible:
            return
        handle, name = self._parent.handle, self._parent.name
        with problems_for(self._change.place.path):
            self._check_unmodified()
            if self._old is None:
                os.unlink(name, dir_fd=handle)
                self._parent.remove_made()
            elif not self._aside:
                self._restore_copy()
            elif self._new is None:
                rename_new(handle, self._temp, name)
            elif not exchange(handle, self._temp, name):
                os.rename(self._temp, name, src_dir_fd=handle, dst_dir_fd=handle)
            self._visible = self._aside = False
            self._sync()

    def discard(self) -> bool:
        """Remove temporary files; may be called at any time. Returns False on a disk error."""
        if self._parent.handle < 0:
            return True
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        clean = self._spare is None
        if self._aside and self._old is not None and self._old.st_size >= _LARGE:
            self._removed = _open_removed(self._temp, self._parent.handle)
        if self._aside or (self._file is not None and self._file.named and not self._visible):
            clean = remove_name(self._temp, self._parent.handle) and clean
        if not self._visible:
            clean = self._parent.remove_made() and clean
        self._parent.close()
        return clean

    @property
    def folder_handle(self) -> int:
        """The open directory of the change; -1 after `discard`."""
        return self._parent.handle

    def let_go(self) -> None:
        """Free the space of the replaced file."""
        removed, self._removed = self._removed, -1
        if removed >= 0:
            os.close(removed)

    def _write(self, content: Content) -> None:
        if self._change.after_form is Form.LINK:
            self._file = TempLink(self._parent.handle, self._temp, content)
            return
        replaced = self._old if self._change.before_form is Form.FILE else None
        like = TempAttributes(self._parent.name, replaced, self._change.mode)
        self._file = TempFile(self._parent.handle, self._temp, like, self._wait_for_intent)
        self._file.fill(content, durable=self._durable)

    def _link_to_same(self) -> FileFingerprint | None:
        """Make the new file a hard link to a file with the same content; None without one."""
        content = self._change.after
        if self._file is None or content is None or self._old is not None:
            return None
        for place in self._change.same_file:
            made = link_to(self._roots, place, self._parent.handle, self._temp, content)
            if made is not None:
                self._file.close()
                self._file = LinkedTemp()
                return made
        return None

    def _switch(self) -> None:
        handle, name = self._parent.handle, self._parent.name
        if self._old is None:
            try:
                rename_new(handle, self._temp, name)
            except FileExistsError:
                raise stale_problem(self._change, "another file of that name appeared") from None
            except OSError:
                self._visible = self._appeared()
                raise
        elif self._new is None:
            rename_new(handle, name, self._temp)
            self._aside = True
        elif exchange(handle, self._temp, name):
            self._aside = True
        else:
            self._switch_by_link()
            self._aside = True

    def _switch_by_link(self) -> None:
        """Replace the file where names cannot be exchanged: a second name preserves the old
        file.
        """
        handle, name = self._parent.handle, self._parent.name
        spare = f"{self._temp}~"
        os.link(name, spare, src_dir_fd=handle, dst_dir_fd=handle, follow_symlinks=False)
        self._spare = spare
        try:
            os.rename(self._temp, name, src_dir_fd=handle, dst_dir_fd=handle)
            os.rename(spare, self._temp, src_dir_fd=handle, dst_dir_fd=handle)
        except OSError:
            self._restore_spare(spare)
            raise
        self._spare = None

    def _restore_spare(self, spare: str) -> None:
        handle, name = self._parent.handle, self._parent.name
        os.rename(spare, name, src_dir_fd=handle, dst_dir_fd=handle)
        # If both are names of the same file, a rename has no effect and both remain.
        with suppress(FileNotFoundError):
            os.unlink(spare, dir_fd=handle)
        self._spare = None

    def _check_replaced(self) -> None:
        """Check that the replaced file is the one that was stat'ed before."""
        if not self._aside or self._old is None:
            return
        aside = os.stat(self._temp, dir_fd=self._parent.handle, follow_symlinks=False)
        if file_fingerprint(aside) != file_fingerprint(self._old):
            raise stale_problem(self._change, "it was changed at the last moment")

    def _restore_copy(self) -> None:
        if self._change.before is None:
            return
        handle, name = self._parent.handle, self._parent.name
        like = TempAttributes(name, self._old, None)
        write_temp(handle, self._temp, self._change.before, like, durable=self._durable)
        os.rename(self._temp, name, src_dir_fd=handle, dst_dir_fd=handle)

    def _checked_stat(self) -> os.stat_result | None:
        """Return the target's stat if the target is what the plan read and may be replaced."""
        change = self._change
        info = stat_target(self._parent)
        if change.before is None and info is not None and not stat.S_ISREG(info.st_mode):
            raise not_regular_problem(info.st_mode, change.place.path)
        if not is_unchanged(self._parent, info, change):
            raise stale_problem(change, _describe_difference(change, info))
        several = info is not None and info.st_nlink > 1 and not stat.S_ISLNK(info.st_mode)
        if several and change.after is not None:
            self._check_links()
        return info

    def _check_links(self) -> None:
        if not self._break_links:
            raise HARD_LINKS.error(path=quoted(self._change.place.path))

    def _appeared(self) -> bool:
        """Return whether a new file has its name although the call failed."""
        try:
            info = stat_target(self._parent)
        except OSError:
            # Unknown: `revert` will check again.
            return True
        return info is not None and file_fingerprint(info) == self._new

    def _check_unmodified(self) -> None:
        info = stat_target(self._parent)
        if (file_fingerprint(info) if info is not None else None) != self._new:
            raise CHANGED_MEANWHILE.error(path=quoted(self._change.place.path))

    def _sync(self) -> None:
        if self._durable:
            os.fsync(self._parent.handle)


def _is_exclusive(name: str, directory: int) -> bool:
    """Return whether no other process can change this file: no other name, not open for writing."""
    try:
        descriptor = os.open(name, READ | os.O_NOFOLLOW, dir_fd=directory)
    except OSError:
        return False
    try:
        if os.fstat(descriptor).st_nlink > 1:
            return False
        # The kernel grants a read lease only on a file that is not open for writing.
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except (OSError, AttributeError):
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def _open_removed(name: str, directory: int) -> int:
    """Return a handle of a file that is about to be removed; -1 if it cannot be opened."""
    if _HOLD is None:
        return -1
    try:
        return os.open(name, _HOLD | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return -1


def stat_target(parent: Parent) -> os.stat_result | None:
    """Return the stat of the target, without following a link; None if there is none."""
    try:
        return os.stat(parent.name, dir_fd=parent.handle, follow_symlinks=False)
    except FileNotFoundError:
        return None


def is_unchanged(parent: Parent, info: os.stat_result | None, change: Change) -> bool:
    """Whether the target is what the plan read: by its stat if that is proof, else by content."""
    if info is None or change.before is None:
        return info is None and change.before is None
    if change.before_form is not Form.FILE:
        return _is_unchanged_entry(parent, info, change)
    if not stat.S_ISREG(info.st_mode) or info.st_size != change.before.size:
        return False
    seen = change.seen
    if seen is not None and seen.settled and describes(seen, info):
        return True
    descriptor = os.open(parent.name, READ | os.O_NOFOLLOW, dir_fd=parent.handle)
    try:
        return content_equals(descriptor, change.before)
    finally:
        os.close(descriptor)


def _is_unchanged_entry(parent: Parent, info: os.stat_result, change: Change) -> bool:
    """Implement `is_unchanged` for a link or a directory."""
    if change.before_form is Form.LINK:
        leads = stat.S_ISLNK(info.st_mode) and read_link_target(parent.handle, parent.name)
        return change.before is not None and leads == change.before.tobytes()
    same = change.seen is None or change.seen.mode == info.st_mode
    return stat.S_ISDIR(info.st_mode) and (change.after is None or same)


def _describe_difference(change: Change, info: os.stat_result | None) -> str:
    if info is None:
        return "it is gone"
    if change.before is None:
        return "a file of that name exists by now"
    return "it is no longer what it was"


def stale_problem(change: Change, why: str) -> ProblemRaised:
    """Return the problem for a target that is not what the plan read."""
    return CHANGED_SINCE_READ.error(path=quoted(change.place.path), reason=why)


@contextmanager
def problems_for(path: str) -> Iterator[None]:
    """Turn OSErrors in the `with` block into problems about this path."""
    try:
        yield
    except OSError as error:
        raise problem_from_oserror(error, path) from error
