"""Traces which files a program's processes are about to write, to attribute changes to the
program.

The kernel stops a process in the few system calls that change a name or open a file for writing,
notifies the tracer, and lets the call continue unchanged. A program that races with the tracer can
hide a write, which is then attributed to no program: the log is evidence, not enforcement.
"""

from __future__ import annotations

import ctypes
import fcntl
import logging
import os
import platform
import select
import stat
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.host.processes.landlock import no_new_privileges
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.tracing.traced_syscalls import TRACED_SYSCALLS, filter_for
from handrail.host.supervisor.tracing.write_log import WriteLog

_SYS_SECCOMP: Final = 317 if platform.machine() == "x86_64" else 277
_SET_MODE_FILTER: Final = 1
_NEW_LISTENER: Final = 1 << 3
# Only a fatal signal interrupts the wait of a traced process (Linux 5.19).
_WAIT_KILLABLE: Final = 1 << 5
_RECEIVE: Final = 0xC0502100
_ANSWER: Final = 0xC0182101
_GO_ON: Final = 1
_NOTICE: Final = struct.Struct("=QIIiIQ6Q")
_REPLY: Final = struct.Struct("=QqiI")
_IDLE_MS: Final = 500
_LAST_WORDS_S: Final = 5.0
_log = logging.getLogger("handrail")


def can_trace(recipe: Recipe) -> bool:
    """Whether a program with this recipe can be traced. Tracing would disable the setuid bit, so
    setuid programs are not traced.
    """
    if not recipe.notes or sys.platform != "linux" or platform.machine() not in TRACED_SYSCALLS:
        return False
    try:
        return not Path(recipe.argv[0]).stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
    except OSError:
        return False


def start_tracer(recipe: Recipe) -> SyscallTracer | None:
    """A tracer for a program about to be started; None if tracing is not possible."""
    if not can_trace(recipe):
        return None
    try:
        return SyscallTracer(recipe.notes)
    except OSError:
        return None


class SyscallTracer:
    """Traces one program: `install` on the thread that will start it, `finish` at its end."""

    def __init__(self, path: str) -> None:
        self._write_log = WriteLog(path)
        self._ready = threading.Event()
        self._handle = -1
        self._thread = threading.Thread(target=self._watch, name="handrail-witness", daemon=True)
        # Started before the filter is installed, because a new thread would inherit it.
        self._thread.start()

    def install(self) -> None:
        """Trace this thread and everything it starts. If the kernel cannot, the log is marked
        incomplete.
        """
        code = filter_for(platform.machine())
        buffer = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
        flags = _NEW_LISTENER | _WAIT_KILLABLE
        if no_new_privileges():
            call = ctypes.CDLL(None, use_errno=True).syscall
            self._handle = call(_SYS_SECCOMP, _SET_MODE_FILTER, flags, program)
        self._ready.set()

    def finish(self) -> None:
        """Write the rest of the log; called when the program has ended."""
        self._ready.set()
        self._thread.join(_LAST_WORDS_S)

    def _watch(self) -> None:
        self._ready.wait()
        try:
            if self._handle < 0:
                self._write_log.give_up()
            else:
                self._serve()
            self._write_log.close()
        except OSError:
            _log.exception("what a program writes could not be noted")
        finally:
            if self._handle >= 0:
                # Closing it lets processes continue that wait for an answer.
                os.close(self._handle)

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        buffer = bytearray(_NOTICE.size)
        empty = bytes(_NOTICE.size)
        while True:
            ready = poll.poll(_IDLE_MS)
            if not ready:
                self._write_log.flush()
                continue
            if not ready[0][1] & select.POLLIN:
                return
            buffer[:] = empty
            try:
                fcntl.ioctl(self._handle, _RECEIVE, buffer)
            except FileNotFoundError:
                # The process was killed meanwhile.
                continue
            number, pid, _, call, _, _, *arguments = _NOTICE.unpack(buffer)
            self._write_log.note(pid, call, arguments)
            with suppress(FileNotFoundError):
                fcntl.ioctl(self._handle, _ANSWER, _REPLY.pack(number, 0, 0, _GO_ON))
