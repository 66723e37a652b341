"""All descendants of this process: finds them, signals them, and proves that none is left.

This process is a subreaper, so orphans below it become its children. If no child is left, no
descendant is left, whatever sessions, groups or names the descendants used.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from handrail.host.processes.procfs import child_pids, process_stat

_PLENTY: Final = 4096

_PR_SET_DUMPABLE: Final = 4
_PR_SET_NAME: Final = 15
_PR_SET_CHILD_SUBREAPER: Final = 36
# More than any well-behaved program has.
MANY: Final = 1000


class TreeMember(NamedTuple):
    """A descendant, the parent through which it was found, and its process group."""

    pid: int
    parent: int
    group: int


def become_subreaper(name: str) -> None:
    """Become a subreaper with this process name, protected from ptrace."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this kernel lets no process adopt orphans")
    libc.prctl(_PR_SET_NAME, name.encode("ascii"), 0, 0, 0)
    # Otherwise a program of the same user could take over the socket by ptrace.
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def members(spare: Container[int] = (), at_most: int = sys.maxsize) -> list[TreeMember]:
    """Return every living descendant, except those in `spare` and their descendants."""
    found: list[TreeMember] = []
    seen: set[int] = set()
    parents = [os.getpid()]
    while parents and len(found) < at_most:
        parent = parents.pop()
        for pid in child_pids(parent):
            if pid in seen or pid in spare:
                continue
            seen.add(pid)
            parents.append(pid)
            stat = process_stat(pid)
            if stat is not None and not stat.dead:
                found.append(TreeMember(pid, parent, stat.group))
    return found


def ask_to_end(*, omit: Container[int] = ()) -> None:
    """Send SIGTERM to every descendant once, except to those in `omit`."""
    found = members()
    _send_each(found, [member for member in found if member.pid not in omit], signal.SIGTERM)


def kill(until: float, spare: Container[int] = ()) -> None:
    """Stop all descendants until no new one appears, then kill them; give up at `until`.

    A stopped process cannot fork, and with a full process table its slot cannot be reused.
    """
    some = members(spare, MANY)
    if len(some) >= MANY:
        # Finding all of them takes long, and more may be forked meanwhile.
        _send_groups(some, signal.SIGKILL)
    stopped: set[int] = set()
    while time.monotonic() < until:
        found = members(spare)
        fresh = [member for member in found if member.pid not in stopped]
        if not fresh:
            break
        _send_groups(fresh, signal.SIGSTOP)
        _send_each(found, fresh, signal.SIGSTOP)
        stopped.update(member.pid for member in fresh)
    found = members(spare)
    _send_groups(found, signal.SIGKILL)
    _send_each(found, found, signal.SIGKILL)


def reap(ended: Callable[[int, int], None]) -> bool:
    """Reap ended children, calling `ended(pid, exit_code)` for each; whether no child is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return False
        ended(pid, os.waitstatus_to_exitcode(status))


def _send_groups(found: Iterable[TreeMember], number: int) -> None:
    """Signal whole process groups: during this one step none of their processes can fork."""
    # The supervisor and all runners are in this group.
    for group in {member.group for member in found} - {os.getpgrp()}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _send_each(found: Iterable[TreeMember], to: Iterable[TreeMember], number: int) -> None:
    family = {os.getpid(), *(member.pid for member in found)}
    for member in to:
        _send(member.pid, number, family)


def _send(pid: int, number: int, family: Container[int]) -> None:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        # The pid may have been reused since it was read; the pidfd still refers to the same
        # process.
        stat = process_stat(pid)
        if stat is not None and stat.parent in family:
            signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        os.close(handle)


class EventLoop:
    """Polls file descriptors and calls their callbacks, one turn at a time."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._calls: dict[int, Callable[[], object]] = {}

    def add(self, handle: int, call: Callable[[], object]) -> None:
        """Run `call` whenever the descriptor is readable or at its end."""
        self._calls[handle] = call
        self._poll.register(handle, select.POLLIN)

    def remove(self, handle: int) -> None:
        """Stop polling a descriptor; unknown descriptors are ignored."""
        if self._calls.pop(handle, None) is not None:
            self._poll.unregister(handle)

    def turn(self, until: float | None) -> None:
        """Wait for the next event, at most until `until` (monotonic)."""
        wait_ms = None if until is None else max(until - time.monotonic(), 0) * 1000
        for handle, _ in self._poll.poll(wait_ms):
            call = self._calls.get(handle)
            if call is not None:
                call()


class SignalPipe:
    """Delivers signals through a pipe. Started programs get the default dispositions."""

    def __init__(self, *numbers: signal.Signals) -> None:
        self.handle, self._sender = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            # Not SIG_IGN, which programs would inherit.
            signal.signal(number, _ignore_signal if number in numbers else signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, _ignore_signal)
        signal.set_wakeup_fd(self._sender, warn_on_full_buffer=False)

    def take(self) -> bytes:
        """The signals received since the last call."""
        try:
            return os.read(self.handle, _PLENTY)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Stop listening; used after a fork, when the signals belong to the other process."""
        signal.set_wakeup_fd(-1)
        os.close(self.handle)
        os.close(self._sender)


def _ignore_signal(number: int, frame: object) -> None:
    """Do nothing: the handler only wakes up the loop."""
    del number, frame
