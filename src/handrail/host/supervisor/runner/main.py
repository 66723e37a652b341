"""The supervisor process: forks a runner on request, and ends the processes of killed runners.

It runs no program itself and has only one thread, so forking is safe.
"""

from __future__ import annotations

import fcntl
import gc
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from handrail.host.files.root_identity import RootHandle
from handrail.host.supervisor.runner import process_tree
from handrail.host.supervisor.runner.launch import RootHandles
from handrail.host.supervisor.runner.process_tree import EventLoop, SignalPipe
from handrail.host.supervisor.runner.run_requests import (
    run_background,
    run_channel,
    run_foreground,
)
from handrail.host.supervisor.runner.runner_process import Runner
from handrail.host.supervisor.wire import FrameKind

_ORPHANS_S: Final = 0.02
_KILLING_S: Final = 5.0
_MB: Final = 1 << 20
_FIRST_ROOT: Final = 64


def main(arguments: list[str]) -> None:
    """Entry point with the arguments `HANDLE PID MEMORY_MB SCRATCH SIGN [ROOT PATH]...`: the
    control socket, the runtime's pid, a memory limit or 0, a directory to remove at the end or "",
    a file to lock or "", and for each root its descriptor and path.
    """
    handle, pid, memory_mb, scratch, lock_file, *roots = arguments
    pairs = zip(roots[::2], roots[1::2], strict=True)
    root_handles = RootHandles([_renumber_root(int(one), path) for one, path in pairs])
    control = socket.socket(fileno=int(handle))
    control.set_inheritable(False)
    control.setblocking(False)
    # Locked first: if the lock is free after the runtime has ended, no program can still be
    # started.
    lock_handle = _lock(lock_file) if lock_file else -1
    if os.getppid() != int(pid):
        return
    runtime = os.pidfd_open(int(pid))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if int(memory_mb):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory_mb) * _MB, int(memory_mb) * _MB))
    process_tree.become_subreaper("handrail-superv")
    # Objects that exist now stay shared with every runner while they are unchanged.
    gc.freeze()
    SupervisorProcess(control, runtime, lock_handle, root_handles).serve()
    if scratch:
        # Imported only now: the first program waits for everything that this process imports.
        import shutil

        shutil.rmtree(scratch, ignore_errors=True)
    if lock_file:
        Path(lock_file).unlink(missing_ok=True)


def _renumber_root(handle: int, path: str) -> RootHandle:
    """Return a root with a descriptor number that no program uses or inherits."""
    moved = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, _FIRST_ROOT)
    os.close(handle)
    return RootHandle(path, moved)


def _lock(lock_file: str) -> int:
    handle = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


class SupervisorProcess:
    """Forks runners until the runtime ends; continues until the last runner has ended."""

    def __init__(
        self, control: socket.socket, runtime: int, lock_handle: int, root_handles: RootHandles
    ) -> None:
        """`lock_handle` is locked while a program runs that is not kept; see `killed_runtimes`."""
        self._control = control
        self._runtime = runtime
        self._lock_handle = lock_handle
        self._root_handles = root_handles
        self._signals = SignalPipe(signal.SIGCHLD)
        self._loop = EventLoop()
        self._runners: set[int] = set()
        self._closing = False
        self._loop.add(control.fileno(), self._on_control)
        self._loop.add(runtime, self._on_runtime_gone)
        self._loop.add(self._signals.handle, self._signals.take)

    def serve(self) -> None:
        """Run until the runtime and all runners have ended."""
        orphans = False
        while self._runners or orphans or not self._closing:
            self._loop.turn(time.monotonic() + _ORPHANS_S if orphans else None)
            orphans = self._end_orphans()
            if self._closing and not orphans:
                self._release_lock()

    def _release_lock(self) -> None:
        """Release the lock; each runner holds it until its program has ended."""
        lock_handle, self._lock_handle = self._lock_handle, -1
        if lock_handle >= 0:
            os.close(lock_handle)

    def _on_control(self) -> None:
        try:
            data, handles, _, _ = socket.recv_fds(self._control, 1, 1)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, handles = b"", []
        for handle in handles:
            # Received descriptors are inheritable; no program may inherit this one.
            os.set_inheritable(handle, False)
            self._fork(handle)
        if not data:
            self._on_runtime_gone()

    def _on_runtime_gone(self) -> None:
        self._loop.remove(self._control.fileno())
        self._loop.remove(self._runtime)
        self._closing = True

    def _end_orphans(self) -> bool:
        """Reap children and kill what a killed runner left; return whether more may be left."""

        def ended(pid: int, exit_code: int) -> None:
            del exit_code
            self._runners.discard(pid)

        if process_tree.reap(ended) or not process_tree.members(self._runners):
            return False
        process_tree.kill(time.monotonic() + _KILLING_S, self._runners)
        return True

    def _fork(self, handle: int) -> None:
        pid = os.fork()
        if pid:
            os.close(handle)
            self._runners.add(pid)
            return
        code = 1
        try:
            self._control.close()
            self._signals.close()
            connection = socket.socket(fileno=handle)
            run_runner(connection, self._runtime, self._release_lock, self._root_handles)
            code = 0
        finally:
            # The child must never continue in the supervisor's code.
            if code:
                import traceback

                traceback.print_exc(file=sys.stderr)
                sys.stderr.flush()
            os._exit(code)


def run_runner(
    connection: socket.socket,
    runtime: int,
    let_go: Callable[[], None],
    root_handles: RootHandles | None = None,
) -> None:
    """Serve requests until the runtime ends; for kept jobs the lock is released."""
    runner = Runner(connection, runtime, root_handles or RootHandles())
    while not runner.leaves and (request := runner.next_request()) is not None:
        if request.kind is FrameKind.JOB:
            runner.leaves = True
            if request.header["job"]["kept"]:
                let_go()
            run_background(runner, request)
        elif request.kind is FrameKind.OPEN:
            run_channel(runner, request)
        else:
            run_foreground(runner, request)
