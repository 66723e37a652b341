"""Starts helper processes; only this module and the supervisor start processes.

Each process gets a thread, which first drops its rights (Landlock and seccomp bind a thread and
what it starts), then starts the process, reads its output, and ends when the process ends.
"""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import anyio

from handrail.host.processes import landlock, seccomp
from handrail.host.processes.binaries import needs_loader

_ENVIRONMENT: Final = {"LC_ALL": "C.UTF-8"}
_LIBRARIES: Final = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
)
_CHUNK: Final = 1 << 16
_MAX_STDERR: Final = 1 << 16
_MAX_MEMORY: Final = 2 << 30
# How long the pipes of a killed process may stay open, because another process has them too.
_GRACE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class HelperResult:
    """The result of a process. `cut` says that it was killed because of too much output, `confined`
    whether the kernel restricted it to the granted files.
    """

    stdout: bytes
    stderr: bytes
    exit_code: int
    timed_out: bool
    cut: bool
    confined: bool


async def run(
    command: Sequence[str],
    *,
    cwd_fd: int,
    read: Sequence[str | int],
    deadline_s: float,
    max_bytes: int,
    filtered: bool = True,
    feed: bytes = b"",
    handed: Sequence[int] = (),
) -> HelperResult:
    """Run a program that only reads: it cannot write, use the network or start another program.

    `filtered=False` is for a bundled program that opens a hundred thousand files. Without the
    system-call filter it is a few per cent faster, but what only the filter denies (UDP, path-name
    sockets, chmod, truncating readable files) is not enforced.

    `command[0]` is an absolute path. The process starts in the directory behind `cwd_fd` and may
    open only what lies beneath `read`. `feed` is its standard input; the open handles `handed` keep
    their numbers. However this function ends, no process and no thread is left. Raises OSError if
    the program cannot start.
    """
    job = Helper(
        tuple(command), cwd_fd, tuple(read), deadline_s, max_bytes, filtered, feed, tuple(handed)
    )
    done = anyio.Event()
    loop = asyncio.get_running_loop()
    thread = threading.Thread(
        target=job.supervise, args=(loop, done), name="handrail-spawn", daemon=True
    )
    thread.start()
    try:
        await done.wait()
    finally:
        if not done.is_set():
            job.kill()
            with anyio.CancelScope(shield=True):
                await done.wait()
        thread.join()
    return job.answer()


def run_now(
    command: Sequence[str], *, feed: bytes, deadline_s: float, max_bytes: int
) -> HelperResult:
    """Run a program that only turns its input into output, blocking the caller.

    The program is confined as by `run`, but may open nothing except itself and its libraries. For
    programs that take milliseconds, because the caller's thread and event loop are blocked. Raises
    OSError if the program cannot start.
    """
    nowhere = os.open(os.sep, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    job = Helper(tuple(command), nowhere, (), deadline_s, max_bytes, filtered=True, feed=feed)
    thread = threading.Thread(target=job.work, name="handrail-spawn", daemon=True)
    try:
        try:
            thread.start()
        except RuntimeError as error:
            # No thread is available; callers handle a process that cannot start.
            raise OSError(errno.EAGAIN, str(error)) from error
        try:
            thread.join()
        finally:
            # After Ctrl-C the process must not outlive the handle of its working directory.
            job.kill()
            thread.join()
    finally:
        os.close(nowhere)
    return job.answer()


def supported() -> bool:
    """Return whether this machine has the required kernel features."""
    return sys.platform == "linux" and _has_process_handles()


def enforcement() -> dict[str, str | int]:
    """Return what the kernel enforces for ripgrep, measured on a temporary thread.

    Without the filter, `write` and `network` are at most `partial`: Landlock covers neither chmod
    nor UDP. `filter` says whether the filter covers them for other programs.
    """
    measured: dict[str, str | int] = {"landlock_abi": landlock.abi()}

    def probe() -> None:
        landlock.restrict_thread((), ())
        measured["read_outside"] = "enforced" if _refused(_open_root) else "absent"
        measured["write"] = "partial" if _refused(_open_for_writing) else "absent"
        measured["network"] = "partial" if _refused(_connect) else "absent"
        seccomp.restrict_thread()
        measured["filter"] = "enforced" if _refused(_open_socket) else "absent"

    thread = threading.Thread(target=probe, name="handrail-probe", daemon=True)
    thread.start()
    thread.join()
    return measured


def _has_process_handles() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return Path("/proc/self/fd").is_dir()


@dataclass(slots=True)
class Helper:
    """One process: `work` runs on its own thread; other threads may call `kill`."""

    command: tuple[str, ...]
    cwd_fd: int
    read: tuple[str | int, ...]
    deadline_s: float
    max_bytes: int
    filtered: bool
    feed: bytes = b""
    handed: tuple[int, ...] = ()
    finished: HelperResult | None = None
    error: OSError | None = None
    _process: subprocess.Popen[bytes] | None = None
    _killed: bool = False
    # Held while the process is killed or reaped, so that its pid is not reused.
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def supervise(self, loop: asyncio.AbstractEventLoop, done: anyio.Event) -> None:
        """Run on the thread; resolves `done` on the event loop at the end."""
        try:
            self.work()
        finally:
            # If the event loop is closed, nothing waits for the result.
            if not loop.is_closed():
                loop.call_soon_threadsafe(done.set)

    def work(self) -> None:
        """Run the process; `answer` returns the result."""
        try:
            self.finished = self._run()
        except OSError as error:
            self.error = error

    def answer(self) -> HelperResult:
        """Return the result, after the thread has ended; raises what prevented the start."""
        if self.error is not None:
            raise self.error
        if self.finished is None:
            raise RuntimeError("the thread of a process ended without an answer")
        return self.finished

    def kill(self) -> None:
        """Kill the process group, now or as soon as it exists."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._kill_group(self._process)

    def _run(self) -> HelperResult:
        # Opened here, because the restricted thread is not allowed to.
        given = _memory_input(self.feed)
        try:
            confined = self.restrict_thread()
            self.start(given)
        finally:
            os.close(given)
        return self.finish(confined=confined)

    def restrict_thread(self) -> bool:
        """Restrict the calling thread, for good, to what the process may do; return whether the
        kernel restricts it to its files.
        """
        libraries = _LIBRARIES if needs_loader(self.command[0]) else ()
        confined = landlock.restrict_thread(self.read, (self.command[0], *libraries))
        if self.filtered:
            seccomp.restrict_thread()
        return confined

    def finish(self, *, confined: bool) -> HelperResult:
        """Read all output and wait for the end, within the deadline from now on."""
        process = self._process
        if process is None:
            raise RuntimeError("no process was started")
        try:
            return self._drain(process, confined=confined)
        finally:
            self._reap(process)

    def start(self, given: int) -> None:
        """Start it on a restricted thread, with this handle as standard input."""
        with self._lock:
            if self._killed:
                raise InterruptedError(errno.EINTR, "killed before it started")
            self._process = subprocess.Popen(
                self.command,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                # The child changes to the directory before its handles are closed.
                cwd=f"/proc/self/fd/{self.cwd_fd}",
                env=_ENVIRONMENT,
                pass_fds=self.handed,
                # A process group, so that it can be killed as a whole and does not get the
                # terminal's Ctrl-C. No session: the scheduler would treat it as new and give it
                # almost no time at first on a busy machine.
                process_group=0,
            )
        self._limit_memory(self._process.pid)

    def _limit_memory(self, pid: int) -> None:
        try:
            resource.prlimit(pid, resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
        except ProcessLookupError:
            return

    def _drain(self, process: subprocess.Popen[bytes], *, confined: bool) -> HelperResult:
        deadline = time.monotonic() + self.deadline_s
        timed_out = stopped = False
        with _OutputCollector(process, self.max_bytes) as collected:
            while collected.reading or not collected.exited:
                collected.take(deadline - time.monotonic())
                late = time.monotonic() >= deadline
                if stopped and late:
                    break
                if not stopped and (late or collected.cut or collected.exited):
                    timed_out = late and not collected.exited
                    stopped = True
                    self.kill()
                    deadline = time.monotonic() + _GRACE_S
        self._reap(process)
        return HelperResult(
            bytes(collected.stdout),
            bytes(collected.stderr),
            process.returncode,
            timed_out,
            collected.cut,
            confined,
        )

    def _reap(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            if self._process is None:
                return
            self._kill_group(process)
            process.wait()
            self._process = None
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()

    def _kill_group(self, process: subprocess.Popen[bytes]) -> None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def _memory_input(data: bytes) -> int:
    """Return a handle from which these bytes can be read; in memory, because a pipe may be full."""
    if not data:
        return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    handle = os.memfd_create("handrail-feed", os.MFD_CLOEXEC)
    with os.fdopen(handle, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


class _OutputCollector:
    """The output of a process so far, up to a limit, and whether it ended."""

    def __init__(self, process: subprocess.Popen[bytes], max_bytes: int) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.cut = False
        self.exited = False
        self.reading: dict[int, bytearray] = {}
        self._max_bytes = max_bytes
        self._poller = select.poll()
        for pipe, kept in ((process.stdout, self.stdout), (process.stderr, self.stderr)):
            if pipe is not None:
                self.reading[pipe.fileno()] = kept
                self._poller.register(pipe.fileno(), select.POLLIN)
        self._end = os.pidfd_open(process.pid)
        self._poller.register(self._end, select.POLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._end)

    def take(self, timeout_s: float) -> None:
        """Read what is available, waiting at most this long."""
        for handle, _ in self._poller.poll(max(timeout_s, 0) * 1000):
            if handle == self._end:
                self.exited = True
                self._poller.unregister(handle)
            else:
                self._append_output(handle, os.read(handle, _CHUNK))

    def _append_output(self, handle: int, chunk: bytes) -> None:
        if not chunk:
            self._poller.unregister(handle)
            del self.reading[handle]
        elif self.reading[handle] is self.stdout:
            room = self._max_bytes - len(self.stdout)
            self.cut = self.cut or len(chunk) > room
            self.stdout += chunk[:room]
        else:
            self.stderr += chunk[: _MAX_STDERR - len(self.stderr)]


def _refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except PermissionError:
        return True
    return False


def _open_root() -> None:
    os.close(os.open(os.sep, os.O_RDONLY | os.O_CLOEXEC))


def _open_for_writing() -> None:
    os.close(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))


def _connect() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stream:
        # Nothing listens on port 1. `connect_ex` would not show whether the kernel denied the call.
        try:
            stream.connect(("127.0.0.1", 1))
        except ConnectionRefusedError:
            return


def _open_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
