"""The service that receives system calls of one program through a seccomp listener.

It notes which files are about to be written and lets these calls continue: this is evidence that a
program can race with, not enforcement. Where Landlock alone confines the program, the service makes
the calls that Landlock does not restrict (`call_mediator`); these never continue.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import stat
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.core.ports.processes import Connection
from handrail.host.processes import seccomp
from handrail.host.processes.landlock import no_new_privileges
from handrail.host.sandbox.backends.apply import clear_capabilities
from handrail.host.sandbox.backends.landlock_grants import OpenTree, open_without_links
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.tracing.call_mediator import CallAnswer, CallMediator, WritableTrees
from handrail.host.supervisor.tracing.process_memory import ProcessMemory, load_libc
from handrail.host.supervisor.tracing.traced_syscalls import (
    CONNECT_CALLS,
    TRACED_SYSCALLS,
    denial_filter,
    filter_for,
)
from handrail.host.supervisor.tracing.write_log import WriteLog

if TYPE_CHECKING:
    from handrail.host.supervisor.proxy.connect_gate import ConnectGate

_SYS_SECCOMP: Final = 317 if os.uname().machine == "x86_64" else 277
_SET_MODE_FILTER: Final = 1
_NEW_LISTENER: Final = 1 << 3
# Only a fatal signal interrupts the wait of a traced process (Linux 5.19).
_WAIT_KILLABLE: Final = 1 << 5
_RECEIVE: Final = 0xC0502100
_ANSWER: Final = 0xC0182101
_STILL_WAITS: Final = 0x40082102
_ADD_HANDLE: Final = 0x40182103
# The number of the handle becomes the result of the call.
_AND_ANSWER: Final = 1 << 1
_GO_ON: Final = 1
_NOTICE: Final = struct.Struct("=QIIiIQ6Q")
_REPLY: Final = struct.Struct("=QqiI")
_ADDED: Final = struct.Struct("=Q4I")
_IDLE_MS: Final = 500
_LAST_WORDS_S: Final = 5.0


def has_service(recipe: Recipe) -> bool:
    """Return whether a program with this recipe needs the thread of a service."""
    return _can_trace_writes(recipe) or _changes_attributes(recipe) or _has_proxy(recipe)


def start_service(recipe: Recipe, open_top: OpenTree | None = None) -> SyscallService | None:
    """Return a service for a program that is about to be started; None if it needs none. `open_top`
    opens the trees in which the program may change attributes.
    """
    memory = ProcessMemory()
    write_log, mediator, gate = None, None, None
    if _can_trace_writes(recipe):
        with suppress(OSError):
            write_log = WriteLog(recipe.write_log, memory)
    if recipe.landlock is not None and _changes_attributes(recipe):
        trees = WritableTrees(recipe.landlock, open_top or open_without_links)
        mediator = CallMediator(trees, memory)
    if _has_proxy(recipe):
        gate = _open_gate(recipe, memory)
    if write_log is None and mediator is None and gate is None:
        return None
    duties = ServiceDuties(write_log, mediator, gate)
    return SyscallService(duties, memory, drops=recipe.drop_capabilities)


def _open_gate(recipe: Recipe, memory: ProcessMemory) -> ConnectGate | None:
    # Imported here, because few programs have a proxy.
    from handrail.host.supervisor.proxy.connect_gate import ConnectGate
    from handrail.host.supervisor.proxy.connect_proxy import ConnectProxy

    try:
        proxy = ConnectProxy(recipe.hosts)
        return ConnectGate(proxy, memory, own_network=recipe.landlock is None)
    except OSError:
        return None


def deny_attribute_calls() -> None:
    """Make attribute changes fail on this thread and below. Raises OSError."""
    machine = os.uname().machine
    if machine in TRACED_SYSCALLS and not seccomp.apply(denial_filter(machine)):
        raise OSError(errno.EINVAL, "the kernel refused the filter for attributes")


@cache
def can_listen() -> bool:
    """Return whether programs of this process can have a listener. The kernel refuses a second one,
    for example inside another sandbox of this kind.
    """
    handles: list[int] = []
    thread = threading.Thread(target=lambda: handles.append(_new_listener(attributes=True)))
    thread.start()
    thread.join()
    if handles[0] < 0:
        return False
    os.close(handles[0])
    return True


class ServiceDuties(NamedTuple):
    """The duties of a service; None means not needed, or not possible."""

    write_log: WriteLog | None
    mediator: CallMediator | None
    gate: ConnectGate | None


class SyscallService:
    """Serves one program: call `install` on the thread that will start it, `finish` at its end."""

    def __init__(self, duties: ServiceDuties, memory: ProcessMemory, *, drops: bool) -> None:
        """`drops`: the program has no capabilities, so the service drops its own."""
        self._write_log, self._mediator, self._gate = duties
        self._memory = memory
        self._drops = drops
        self._ready = threading.Event()
        self._handle = -1
        self._thread = threading.Thread(target=self._watch, name="handrail-witness", daemon=True)
        # Started before the filter is installed, because a new thread would inherit it.
        self._thread.start()

    def install(self) -> bool:
        """Serve this thread and everything that it starts; return whether calls are mediated. If
        the kernel cannot do that, the log is marked incomplete.
        """
        mediates = self._mediator is not None
        self._handle = _new_listener(
            notes=self._write_log is not None,
            attributes=mediates,
            connects=self._gate is not None,
        )
        self._ready.set()
        return mediates and self._handle >= 0

    def connections(self) -> tuple[Connection, ...]:
        """The connections that the program asked its proxy for."""
        return () if self._gate is None else self._gate.proxy.records

    def finish(self) -> None:
        """Write the rest of the log; called when the program has ended."""
        self._ready.set()
        self._thread.join(_LAST_WORDS_S)

    def _watch(self) -> None:
        self._ready.wait()
        try:
            if self._drops:
                clear_capabilities()
            if self._handle >= 0:
                self._serve()
            elif self._write_log is not None:
                self._write_log.give_up()
        except Exception:
            # A log that ends early must be marked incomplete.
            import logging

            logging.getLogger("handrail").exception(
                "the system calls of a program could not be served"
            )
            if self._write_log is not None:
                self._write_log.give_up()
        finally:
            if self._handle >= 0:
                # From here on, calls that wait for an answer and all later ones fail.
                os.close(self._handle)
            if self._write_log is not None:
                with suppress(OSError):
                    self._write_log.close()
            if self._mediator is not None:
                self._mediator.close()
            if self._gate is not None:
                self._gate.close()

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        buffer = bytearray(_NOTICE.size)
        empty = bytes(_NOTICE.size)
        while True:
            ready = poll.poll(_IDLE_MS)
            if not ready:
                if self._write_log is not None:
                    self._write_log.flush()
                continue
            if not ready[0][1] & select.POLLIN:
                return
            buffer[:] = empty
            try:
                _ioctl(self._handle, _RECEIVE, buffer)
            except FileNotFoundError:
                # The process was killed meanwhile.
                continue
            number, pid, _, call, _, _, *arguments = _NOTICE.unpack(buffer)
            self._memory.forget()
            if self._write_log is not None:
                self._write_log.note(pid, call, arguments)
            answer = self._mediate(number, pid, call, arguments)
            # The process may have been killed meanwhile.
            with suppress(FileNotFoundError):
                self._reply(number, answer)

    def _mediate(
        self, number: int, pid: int, call: int, arguments: Sequence[int]
    ) -> CallAnswer | None:
        if self._gate is not None and call == CONNECT_CALLS[os.uname().machine]:
            return self._gate.answer(pid, arguments, self._waits(number))
        if self._mediator is None:
            return None
        return self._mediator.answer(pid, call, arguments, self._waits(number))

    def _waits(self, number: int) -> Callable[[], bool]:
        def waits() -> bool:
            try:
                _ioctl(self._handle, _STILL_WAITS, struct.pack("=Q", number))
            except FileNotFoundError:
                return False
            return True

        return waits

    def _reply(self, number: int, answer: CallAnswer | None) -> None:
        if answer is None:
            _ioctl(self._handle, _ANSWER, _REPLY.pack(number, 0, 0, _GO_ON))
        elif answer.handle < 0:
            _ioctl(self._handle, _ANSWER, _REPLY.pack(number, 0, -answer.error, 0))
        else:
            self._pass_handle(number, answer)

    def _pass_handle(self, number: int, answer: CallAnswer) -> None:
        flags = os.O_CLOEXEC if answer.close_on_exec else 0
        added = _ADDED.pack(number, _AND_ANSWER, answer.handle, 0, flags)
        try:
            _ioctl(self._handle, _ADD_HANDLE, added)
        except FileNotFoundError:
            raise
        except OSError as error:
            code = error.errno or errno.EMFILE
            _ioctl(self._handle, _ANSWER, _REPLY.pack(number, 0, -code, 0))
        finally:
            os.close(answer.handle)


def _ioctl(handle: int, request: int, data: bytes | bytearray) -> None:
    """Make a request to the listener; `fcntl.ioctl` does not repeat one that a signal interrupted."""
    while True:
        with suppress(InterruptedError):
            fcntl.ioctl(handle, request, data)
            return


def _can_trace_writes(recipe: Recipe) -> bool:
    """Return whether the writes of a program can be noted. A listener would disable the setuid bit,
    so setuid programs are not traced.
    """
    if not recipe.write_log or not _is_supported():
        return False
    try:
        return not Path(recipe.argv[0]).stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
    except OSError:
        return False


def _changes_attributes(recipe: Recipe) -> bool:
    """Return whether attribute changes are made for the program; not if it may write nothing."""
    return recipe.landlock is not None and bool(recipe.landlock.attributes) and _is_supported()


def _has_proxy(recipe: Recipe) -> bool:
    return bool(recipe.hosts) and _is_supported()


def _is_supported() -> bool:
    return sys.platform == "linux" and os.uname().machine in TRACED_SYSCALLS


def _new_listener(*, notes: bool = False, attributes: bool = False, connects: bool = False) -> int:
    """Return a listener for this thread and everything that it starts; -1 if the kernel refuses."""
    code = filter_for(os.uname().machine, notes=notes, attributes=attributes, connects=connects)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    if not no_new_privileges():
        return -1
    flags = _NEW_LISTENER | _WAIT_KILLABLE
    handle: int = load_libc().syscall(_SYS_SECCOMP, _SET_MODE_FILTER, flags, program)
    return handle
