"""Starts the supervisor process of a runtime and requests runners from it.

The supervisor inherits one socket and the root descriptors, in which programs start, and nothing
else: no environment, no working directory, no site packages.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

from handrail.host.files.root_identity import RootHandle
from handrail.host.messages import (
    NO_INTERPRETER,
    PLATFORM_UNSUPPORTED,
    SUPERVISOR_NOT_STARTED,
)
from handrail.host.processes import spawn


async def wait_exit(pid: int, *, still: Callable[[], bool] = lambda: True) -> None:
    """Wait until a process has ended. `still` returns whether the pid still belongs to it."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        # Checked while the pidfd is open, which cannot refer to another process.
        if still():
            await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


_CODE: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from handrail.host.supervisor.runner.main import main; main(sys.argv[1:])"
)
_CLOSING_S: Final = 2.0
_MAX_LAST_WORDS: Final = 2000


class Supervisor:
    """The supervisor process of one runtime."""

    def __init__(
        self, *, memory_mb: int, scratch: str, sign: str, roots: Sequence[RootHandle] = ()
    ) -> None:
        """Start the supervisor. Raises `unavailable`."""
        _check_supported()
        ours, theirs = socket.socketpair()
        # The supervisor's stderr, which is read if it fails. A file of its own: the caller's stderr
        # may be a pipe that is read to the end, and a kept job would hold it open.
        self._error_output = os.memfd_create("handrail-supervisor", os.MFD_CLOEXEC)
        self._control = ours
        with theirs:
            theirs.set_inheritable(True)
            argv = [_interpreter(), "-I", "-S", "-c", _CODE, _package_home()]
            argv += [str(theirs.fileno()), str(os.getpid()), str(memory_mb), scratch, sign]
            for root in roots:
                argv += [str(root.handle), root.path]
            handed = (theirs.fileno(), *(root.handle for root in roots))
            try:
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._error_output,
                    cwd="/",
                    env={"LC_ALL": "C.UTF-8"},
                    pass_fds=handed,
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                os.close(self._error_output)
                raise SUPERVISOR_NOT_STARTED.error(reason=error.strerror) from error

    @property
    def pid(self) -> int:
        """The pid of the supervisor."""
        return self._process.pid

    def runner(self) -> socket.socket:
        """Return a socket to a new runner; it is at end of file if the supervisor has ended."""
        ours, theirs = socket.socketpair()
        with theirs, suppress(OSError):
            socket.send_fds(self._control, [b"k"], [theirs.fileno()])
        ours.setblocking(False)
        return ours

    def last_words(self) -> str:
        """Return the end of the supervisor's stderr."""
        size = os.fstat(self._error_output).st_size
        start = max(size - _MAX_LAST_WORDS, 0)
        return os.pread(self._error_output, _MAX_LAST_WORDS, start).decode("utf-8", "replace")

    async def aclose(self, *, wait: bool) -> None:
        """Close the control socket. With `wait` there is no kept job: the supervisor ends now."""
        self._control.close()
        if wait:
            with anyio.move_on_after(_CLOSING_S):
                await wait_exit(self._process.pid)
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
        elif self._process.poll() is None:
            # The supervisor stays for the kept jobs and gets another parent when this process ends.
            self._process.returncode = 0
        os.close(self._error_output)

    def discard(self) -> None:
        """Discard a supervisor that has ended by itself."""
        self._control.close()
        self._process.kill()
        self._process.wait()
        os.close(self._error_output)


def _check_supported() -> None:
    if not spawn.supported():
        raise PLATFORM_UNSUPPORTED.error()
    if not Path(sys.executable or "").name.startswith("python"):
        raise NO_INTERPRETER.error(interpreter=sys.executable)


def _interpreter() -> str:
    # Resolved, because the helper does not need the virtual environment.
    return os.path.realpath(sys.executable)


def _package_home() -> str:
    return str(Path(__file__).resolve().parents[3])
