"""Sees which files a program's processes are about to write, so that their doings can be told
from everybody else's. It watches and never decides: every call goes on as if nobody looked.

The kernel stops a process in the few calls that change a name or open a file for writing, asks
us, and lets it go on. A program that races with our reading can hide a write from the notes,
which then counts as nobody's; the notes are evidence, not a fence.
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
# Only a deadly signal ends the wait of a process that we are looking at (Linux 5.19).
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
    """Whether a program started by this recipe can be watched: one that is to gain rights by
    its setuid bit must not be held from that.
    """
    if not recipe.notes or sys.platform != "linux" or platform.machine() not in TRACED_SYSCALLS:
        return False
    try:
        return not Path(recipe.argv[0]).stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
    except OSError:
        return False


def start_tracer(recipe: Recipe) -> SyscallTracer | None:
    """A tracer for a program that is about to be started; None if there cannot be one."""
    if not can_trace(recipe):
        return None
    try:
        return SyscallTracer(recipe.notes)
    except OSError:
        return None


class SyscallTracer:
    """Watches one program; `install` on the thread that will start it, `finish` at its end."""

    def __init__(self, path: str) -> None:
        self._write_log = WriteLog(path)
        self._ready = threading.Event()
        self._handle = -1
        self._thread = threading.Thread(target=self._watch, name="handrail-witness", daemon=True)
        # Started before the filter is there, because a new thread inherits it.
        self._thread.start()

    def install(self) -> None:
        """Put this thread, and all it starts, before our eyes; without effect where the kernel
        cannot do it: then the notes say so.
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
        """The program is over: write down the rest."""
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
                # Whoever waits for an answer must not wait for ever.
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
                # It was killed in between.
                continue
            number, pid, _, call, _, _, *arguments = _NOTICE.unpack(buffer)
            self._write_log.note(pid, call, arguments)
            with suppress(FileNotFoundError):
                fcntl.ioctl(self._handle, _ANSWER, _REPLY.pack(number, 0, 0, _GO_ON))
