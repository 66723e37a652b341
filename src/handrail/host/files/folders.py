"""Making, removing and opening up a folder as a part of a plan.

A folder is made when it is staged, because what comes into it is staged there; it gets its
permissions when it is published, after all that was written into it. One that is to go goes at
the very end, and only if it is empty: what somebody else put there is never touched.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from handrail.core.plan import Change
from handrail.core.problems import ProblemRaised
from handrail.host.files.errors import FAILING, quoted
from handrail.host.files.openat2 import LIST
from handrail.host.files.parents import Parent
from handrail.host.files.roots import Roots
from handrail.host.files.staging import explained, is_unchanged, lstat, stale
from handrail.host.files.temp import Announce

_OURS = 0o700


class StagedFolder:
    """One change of a folder made ready; implements `Staged`."""

    def __init__(self, roots: Roots, change: Change, *, durable: bool, announce: Announce) -> None:
        self._change = change
        self._announce = announce
        self._durable = durable
        self._visible = False
        self._made = False
        self._handle = -1
        # The permissions to go back to, once they were changed.
        self._mode: int | None = None
        with explained(change.path):
            self._parent = Parent(
                roots, change.place, announce if change.after is not None else None, durable=durable
            )
            try:
                self._check()
                if change.after is not None:
                    self._prepare()
            except BaseException:
                self.discard()
                raise

    def publish(self) -> None:
        """Give it its permissions; one that is to go stays until it is discarded."""
        self._announce()
        with explained(self._change.path):
            if not self._parent.is_current():
                raise stale(self._change, "its directory was moved or replaced")
            if self._change.after is None:
                self._check()
            elif self._change.mode is not None:
                self._set(self._change.mode)
            self._visible = True
            self._sync()

    def keep_old(self, destination: str) -> bool:
        """There is nothing to move."""
        del destination
        return False

    def revert(self) -> None:
        """Give it its old permissions back; one that was made goes when it is discarded."""
        with explained(self._change.path):
            if self._handle >= 0 and self._mode is not None:
                os.fchmod(self._handle, self._mode)
            self._visible = False

    def discard(self) -> bool:
        """Remove it if it was to go, or was made for nothing, as far as it is empty."""
        if self._parent.handle < 0:
            return True
        clean = True
        removes = self._change.after is None
        if self._visible == removes and (removes or self._made):
            clean = self._remove()
        elif not self._visible and self._handle >= 0 and self._mode is not None:
            with suppress(OSError):
                os.fchmod(self._handle, self._mode)
        if not self._visible:
            clean = self._parent.remove_made() and clean
        self._close()
        return clean

    def _check(self) -> None:
        if not is_unchanged(self._parent, lstat(self._parent), self._change):
            raise stale(self._change, "it is no longer what it was")

    def _prepare(self) -> None:
        """Make it, or open it up, so that files can be made ready in it."""
        handle, name = self._parent.handle, self._parent.name
        self._announce()
        if self._change.before is None:
            try:
                os.mkdir(name, _OURS, dir_fd=handle)
            except FileExistsError:
                raise stale(self._change, "something of that name appeared") from None
            self._made = True
        self._handle = os.open(name, LIST | os.O_NOFOLLOW, dir_fd=handle)
        mode = stat.S_IMODE(os.fstat(self._handle).st_mode)
        if self._made:
            mode = self._change.mode if self._change.mode is not None else mode
            os.fchmod(self._handle, mode | _OURS)
        elif not os.access(name, os.W_OK | os.X_OK, dir_fd=handle, effective_ids=True):
            self._set(mode | _OURS)

    def _set(self, mode: int) -> None:
        now = stat.S_IMODE(os.fstat(self._handle).st_mode)
        if self._mode is None:
            self._mode = now
        if mode != now:
            os.fchmod(self._handle, mode)

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
    """Raise `conflict` for a folder that would have to become something else."""
    both = change.before is not None and change.after is not None
    if both and change.before_form is not change.after_form:
        raise ProblemRaised(
            "conflict",
            f"{quoted(change.path)} is a {change.before_form.value} now, and cannot become a "
            f"{change.after_form.value} again",
            hint="take the calls back one by one, or move it away first",
        )
