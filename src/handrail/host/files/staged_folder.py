"""Creates, removes and changes directories as part of a plan.

Staging creates a directory or makes it writable, because its entries are staged in it. Restrictive
permissions are set at the very end; so is the removal of a directory, which must be empty.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from handrail.core.plan import Change
from handrail.host.files.directory import Parent, WaitForIntent
from handrail.host.files.errors import FAILING, quoted
from handrail.host.files.messages import KIND_CHANGED
from handrail.host.files.roots import LIST, LOOK_IN, Roots
from handrail.host.files.staged_change import is_unchanged, problems_for, stale_problem, stat_target

_OURS = 0o700


class StagedFolder:
    """One prepared change of a directory; implements `StagedFile`."""

    def __init__(
        self, roots: Roots, change: Change, *, durable: bool, wait_for_intent: WaitForIntent
    ) -> None:
        self._change = change
        self._wait_for_intent = wait_for_intent
        self._durable = durable
        self._visible = False
        self._made = False
        self._handle = -1
        # The permissions before the change and after it; None if they stay as they are.
        self._had: int | None = None
        self._gets: int | None = None
        with problems_for(change.place.path):
            self._parent = Parent(
                roots,
                change.place,
                wait_for_intent if change.after is not None else None,
                durable=durable,
            )
            try:
                self._check()
                self._prepare()
            except BaseException:
                self.discard()
                raise

    def publish(self) -> None:
        """Set the permissions that leave the directory writable; `discard` sets the others."""
        self._wait_for_intent()
        with problems_for(self._change.place.path):
            if not self._parent.is_current():
                raise stale_problem(self._change, "its directory was moved or replaced")
            if self._change.after is None:
                self._check()
            elif self._change.mode is not None and not self._change.only_opens:
                self._set(self._change.mode)
            self._visible = True
            self._sync()

    def keep_old(self, destination: str) -> bool:
        """Return False: there is nothing to move."""
        del destination
        return False

    def revert(self) -> None:
        """Restore the old permissions; `discard` removes a directory that was created."""
        self._gets = self._had
        self._visible = False

    def discard(self) -> bool:
        """Remove the directory if that is the change, or if it was created for a change that
        failed, and it is empty; otherwise set its final permissions.
        """
        if self._parent.handle < 0:
            return True
        removes = self._change.after is None
        goes = self._visible == removes and (removes or self._made)
        clean = self._remove() if goes else True
        if self._gets is not None:
            clean = self._finish(self._gets) and clean
        if not self._visible:
            clean = self._parent.remove_made() and clean
        self._close()
        return clean

    @property
    def folder_handle(self) -> int:
        """The open directory of the change; -1 after `discard`."""
        return self._parent.handle

    def let_go(self) -> None:
        """Do nothing: a directory takes no space."""

    def _check(self) -> None:
        if not is_unchanged(self._parent, stat_target(self._parent), self._change):
            raise stale_problem(self._change, "it is no longer what it was")

    def _prepare(self) -> None:
        """Create the directory, or make it writable, so that files can be staged in it."""
        handle, name = self._parent.handle, self._parent.name
        self._wait_for_intent()
        if self._change.before is not None:
            self._open_up()
            return
        try:
            os.mkdir(name, _OURS, dir_fd=handle)
        except FileExistsError:
            raise stale_problem(self._change, "something of that name appeared") from None
        self._made = True
        self._handle = os.open(name, LIST | os.O_NOFOLLOW, dir_fd=handle)
        mode = self._change.mode
        os.fchmod(self._handle, _OURS if mode is None else mode | _OURS)

    def _open_up(self) -> None:
        handle, name = self._parent.handle, self._parent.name
        look = os.open(name, LOOK_IN | os.O_NOFOLLOW, dir_fd=handle)
        try:
            mode = stat.S_IMODE(os.fstat(look).st_mode)
            if not os.access(name, os.R_OK | os.W_OK | os.X_OK, dir_fd=handle, effective_ids=True):
                # By its handle, which always refers to the same directory.
                Path(f"/proc/self/fd/{look}").chmod(mode | _OURS)
                self._gets = mode
            self._had = mode
            self._handle = os.open(".", LIST, dir_fd=look)
        finally:
            os.close(look)

    def _set(self, mode: int) -> None:
        closes = mode & _OURS != _OURS
        os.fchmod(self._handle, mode | _OURS if closes else mode)
        self._gets = mode if closes else None

    def _finish(self, mode: int) -> bool:
        try:
            os.fchmod(self._handle, mode)
        except OSError:
            return False
        return True

    def _remove(self) -> bool:
        try:
            os.rmdir(self._parent.name, dir_fd=self._parent.handle)
            self._sync()
        except OSError as error:
            return error.errno not in FAILING
        return True

    def _sync(self) -> None:
        if self._durable:
            os.fsync(self._parent.handle)

    def _close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)
        self._parent.close()


def refuse_exchange(change: Change) -> None:
    """Raise `conflict` for a directory that would have to become something else."""
    both = change.before is not None and change.after is not None
    if both and change.before_form is not change.after_form:
        raise KIND_CHANGED.error(
            path=quoted(change.place.path),
            before_form=change.before_form.value,
            after_form=change.after_form.value,
        )
