"""Directs the connections of one program to its proxy, by answering its `connect` calls.

A program with its own network namespace (bubblewrap) connects by itself to a socket of the proxy,
the only one in that namespace. For a program in this machine's network (Landlock) the service
connects the program's socket to the proxy. All other connections are refused.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import ipaddress
import os
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.host import messages
from handrail.host.sandbox.recipe import PROXY_PORT
from handrail.host.supervisor.proxy.connect_proxy import ConnectProxy
from handrail.host.supervisor.tracing.call_mediator import CallAnswer, signed
from handrail.host.supervisor.tracing.process_memory import ProcessMemory, load_libc

_SYS_PIDFD_GETFD: Final = 438
_OWNER_NAMESPACE: Final = 0xB701
_NEW_USER: Final = 0x10000000
_NEW_NETWORK: Final = 0x40000000
_LOCAL: Final = "127.0.0.1"
_MOST_ADDRESS: Final = 128
_PATIENCE_S: Final = 5.0
_TRIES: Final = 20


class ConnectGate:
    """Answers the `connect` calls of one program."""

    def __init__(self, proxy: ConnectProxy, memory: ProcessMemory, *, own_network: bool) -> None:
        """Raises OSError if no socket can be created."""
        self.proxy = proxy
        self._memory = memory
        self._own_network = own_network
        self._serves_namespace = False
        self._door = socket.create_server((_LOCAL, 0))
        self._door.settimeout(_PATIENCE_S)

    def answer(
        self, pid: int, arguments: Sequence[int], waits: Callable[[], bool]
    ) -> CallAnswer | None:
        """Return the result of a call; None if the process may connect by itself."""
        try:
            address = self._address(pid, arguments)
            if self._own_network:
                if address == (_LOCAL, PROXY_PORT):
                    self._serve_namespace(pid)
                return None
            if address != (_LOCAL, PROXY_PORT):
                self._refuse(address)
            return CallAnswer(self._connect(pid, signed(arguments[0]), waits))
        except OSError as error:
            return None if self._own_network else CallAnswer(error.errno or errno.EACCES)

    def close(self) -> None:
        """End all connections."""
        self._door.close()
        self.proxy.close()

    def _address(self, pid: int, arguments: Sequence[int]) -> tuple[str, int] | None:
        """Return the address of a call, copied once; None if it is not an Internet address."""
        size = arguments[2] & 0xFFFFFFFF
        if not 2 <= size <= _MOST_ADDRESS:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        data = self._memory.read(pid, arguments[1], size)
        (family,) = struct.unpack_from("=H", data)
        if family == socket.AF_INET and size >= 8:
            return str(ipaddress.IPv4Address(data[4:8])), int.from_bytes(data[2:4], "big")
        if family == socket.AF_INET6 and size >= 24:
            return str(ipaddress.IPv6Address(data[8:24])), int.from_bytes(data[2:4], "big")
        return None

    def _refuse(self, address: tuple[str, int] | None) -> None:
        if address is None:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        self.proxy.record_refusal(*address, messages.ONLY_PROXY)
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    def _connect(self, pid: int, number: int, waits: Callable[[], bool]) -> int:
        """Connect a socket of the program to the proxy; return an errno, 0 on success."""
        with _borrow_socket(pid, number) as theirs:
            if not waits():
                return errno.ESRCH
            if (theirs.family, theirs.type, theirs.proto) != (
                socket.AF_INET,
                socket.SOCK_STREAM,
                socket.IPPROTO_TCP,
            ):
                return errno.EACCES
            code = theirs.connect_ex(self._door.getsockname())
            if code in (0, errno.EINPROGRESS):
                self._accept_from(theirs.getsockname())
            return code

    def _accept_from(self, wanted: tuple[str, int]) -> None:
        """Pass the connection of this program to the proxy; close connections of other programs."""
        for _ in range(_TRIES):
            client, peer = self._door.accept()
            if peer == wanted:
                self.proxy.serve(client)
                return
            client.close()

    def _serve_namespace(self, pid: int) -> None:
        if not self._serves_namespace:
            self.proxy.listen(_listen_in_namespace(pid))
            self._serves_namespace = True


def _borrow_socket(pid: int, number: int) -> socket.socket:
    """Return a second handle of a socket of a process; raises OSError."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines()
    process = next(int(line.split()[1]) for line in lines if line.startswith("Tgid:"))
    pidfd = os.pidfd_open(process)
    try:
        handle: int = load_libc().syscall(_SYS_PIDFD_GETFD, pidfd, number, 0)
    finally:
        os.close(pidfd)
    if handle < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        found = socket.socket(fileno=handle)
    except OSError:
        os.close(handle)
        raise
    # The blocking mode that the program set, which both handles share.
    found.settimeout(None if os.get_blocking(handle) else 0)
    return found


def _listen_in_namespace(pid: int) -> socket.socket:
    """Return a listening socket in the network namespace of a process; raises OSError. Only a
    process with one thread can enter another user namespace, so a child creates the socket.
    """
    ours, theirs = socket.socketpair()
    with ours:
        child = os.fork()
        if child == 0:
            try:
                _enter_network(pid)
                made = socket.create_server((_LOCAL, PROXY_PORT))
                socket.send_fds(theirs, [b"x"], [made.fileno()])
            finally:
                os._exit(0)
        theirs.close()
        ours.settimeout(_PATIENCE_S)
        _, handles, _, _ = socket.recv_fds(ours, 1, 1)
    # The runner reaps all its children and may have been faster.
    with suppress(ChildProcessError):
        os.waitpid(child, 0)
    if not handles:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    return socket.socket(fileno=handles[0])


def _enter_network(pid: int) -> None:
    libc = load_libc()
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    owner = fcntl.ioctl(network, _OWNER_NAMESPACE)
    # Fails if it is this process's own user namespace; then its rights are enough, or the next call
    # fails.
    libc.setns(owner, _NEW_USER)
    if libc.setns(network, _NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), "setns")
