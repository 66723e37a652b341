"""A program in this machine's network reaches its proxy, and nothing else."""

import ctypes
import errno
import os
import socket
import struct

import pytest
from tests.support.waiting import wait_until

from handrail.host.sandbox.recipe import PROXY_PORT
from handrail.host.supervisor.proxy.connect_gate import ConnectGate
from handrail.host.supervisor.proxy.connect_proxy import ConnectProxy
from handrail.host.supervisor.tracing.process_memory import ProcessMemory


def ipv4(host, port):
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host)


def ipv6(host, port):
    address = socket.inet_pton(socket.AF_INET6, host)
    return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0) + address


PROXY = ipv4("127.0.0.1", PROXY_PORT)


class Gate:
    """The gate, and `connect` calls of this process that it answers."""

    def __init__(self, *, own_network=False):
        self.proxy = ConnectProxy(["example.org"])
        self.gate = ConnectGate(self.proxy, ProcessMemory(), own_network=own_network)

    def connect(self, handle, address, size=None, waits=lambda: True):
        buffer = ctypes.create_string_buffer(bytes(address), 200)
        size = len(address) if size is None else size
        arguments = (handle, ctypes.addressof(buffer), size)
        answer = self.gate.answer(os.getpid(), arguments, waits)
        return None if answer is None else answer.error


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.gate.close()


@pytest.fixture
def client():
    with socket.socket() as client:
        client.settimeout(10)
        yield client


def test_a_connection_to_the_proxy_is_made_for_the_program(gate, client):
    client.setblocking(True)

    assert gate.connect(client.fileno(), PROXY) == 0
    client.sendall(b"CONNECT other.example:443 HTTP/1.1\r\n\r\n")

    assert client.recv(100).startswith(b"HTTP/1.1 403")
    wait_until(lambda: gate.proxy.records)
    assert gate.proxy.records[0][:2] == ("other.example", 443)


def test_a_socket_that_does_not_wait_is_connected_as_well(gate, client):
    client.setblocking(False)

    assert gate.connect(client.fileno(), PROXY) == errno.EINPROGRESS
    client.settimeout(10)
    client.sendall(b"CONNECT other.example:443 HTTP/1.1\r\n\r\n")

    assert client.recv(100).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    ("address", "recorded"),
    [
        (ipv4("127.0.0.1", PROXY_PORT + 1), ("127.0.0.1", PROXY_PORT + 1)),
        (ipv4("127.0.0.2", PROXY_PORT), ("127.0.0.2", PROXY_PORT)),
        (ipv4("192.0.2.7", 80), ("192.0.2.7", 80)),
        (ipv6("2001:db8::5", 443), ("2001:db8::5", 443)),
        (ipv6("::1", PROXY_PORT), ("::1", PROXY_PORT)),
    ],
)
def test_another_address_is_unreachable_and_recorded(gate, client, address, recorded):
    assert gate.connect(client.fileno(), address) == errno.ENETUNREACH

    [record] = gate.proxy.records
    assert (record.host, record.port) == recorded
    assert record.refused


@pytest.mark.parametrize(
    ("address", "size", "code"),
    [
        (PROXY, 0, errno.EINVAL),
        (PROXY, 1, errno.EINVAL),
        (PROXY, 2, errno.EACCES),
        (PROXY, 7, errno.EACCES),
        (PROXY, 8, 0),
        (PROXY, 16, 0),
        (PROXY, 128, 0),
        (PROXY, 129, errno.EINVAL),
        # The kernel reads the lower half of the register.
        (PROXY, 8 | 1 << 32, 0),
        (ipv6("::1", 80), 23, errno.EACCES),
        (ipv6("::1", 80), 24, errno.ENETUNREACH),
        (struct.pack("=H", socket.AF_UNIX) + b"/run/socket\0", None, errno.EACCES),
    ],
)
def test_the_size_of_an_address_is_checked(gate, client, address, size, code):
    client.setblocking(True)

    assert gate.connect(client.fileno(), address, size) == code


def test_only_tcp_sockets_are_connected(gate):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        assert gate.connect(datagrams.fileno(), PROXY) == errno.EACCES
    with socket.socket(socket.AF_INET6) as other:
        assert gate.connect(other.fileno(), PROXY) == errno.EACCES


def test_what_is_no_open_socket_is_an_error_of_the_call(gate, tmp_path):
    with (tmp_path / "file").open("wb") as file:
        assert gate.connect(file.fileno(), PROXY) == errno.ENOTSOCK
    assert gate.connect(99_999, PROXY) == errno.EBADF
    # As the kernel passes it: a register is unsigned.
    assert gate.connect(2**32 - 1, PROXY) == errno.EBADF


def test_an_address_that_cannot_be_read_is_an_error_of_the_call(gate, client):
    answer = gate.gate.answer(os.getpid(), (client.fileno(), 8, 8), lambda: True)

    assert answer.error == errno.EFAULT


def test_a_call_that_no_longer_waits_is_not_connected(gate, client):
    assert gate.connect(client.fileno(), PROXY, waits=lambda: False) == errno.ESRCH
    with pytest.raises(OSError, match="not connected"):
        client.getpeername()


def test_connections_of_others_are_closed(gate, client):
    client.setblocking(True)
    door = gate.gate._door.getsockname()
    with socket.create_connection(door, timeout=10) as stranger:
        assert gate.connect(client.fileno(), PROXY) == 0
        assert stranger.recv(10) == b""


def test_a_program_with_a_network_of_its_own_connects_by_itself(client):
    gate = Gate(own_network=True)

    assert gate.connect(client.fileno(), ipv4("192.0.2.7", 80)) is None
    assert gate.connect(client.fileno(), PROXY, size=1) is None

    assert gate.proxy.records == ()
    gate.gate.close()


def test_a_closed_gate_connects_nobody(client):
    gate = Gate()
    gate.gate.close()

    assert gate.connect(client.fileno(), PROXY) not in (0, None)
