"""The proxy of a command: it reaches what the list names, at an address that was checked."""

import socket
import threading
from contextlib import closing, contextmanager

import pytest

from handrail.host import messages
from handrail.host.supervisor.proxy.connect_proxy import ConnectProxy

TIMEOUT_S = 10


@contextmanager
def server(answer=b"pong"):
    """A server that answers each connection once; yields its port and what it was sent."""
    heard = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                heard.append(client.recv(65536))
                client.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], heard
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(TIMEOUT_S)


def ask(proxy, *parts):
    """What the proxy answers to some bytes, sent one part after the other."""
    ours, theirs = socket.socketpair()
    proxy.serve(theirs)
    with ours:
        ours.settimeout(TIMEOUT_S)
        for part in parts:
            ours.sendall(part)
        ours.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: ours.recv(65536), b""))


def connect(port, host="localhost"):
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


@pytest.fixture
def opened():
    made = []

    def open_proxy(*hosts, resolve=None):
        made.append(ConnectProxy(hosts, resolve))
        return made[-1]

    yield open_proxy
    for proxy in made:
        proxy.close()


def test_a_tunnel_to_a_listed_host_carries_everything(opened):
    with server() as (port, heard):
        proxy = opened(f"localhost:{port}")
        said = ask(proxy, connect(port), b"ping")

    assert said == b"HTTP/1.1 200 Connection established\r\n\r\npong"
    assert heard == [b"ping"]
    assert proxy.records == (("localhost", port, ""),)


def test_a_plain_request_reaches_its_host_as_the_host_expects_it(opened):
    with server(b"HTTP/1.1 200 OK\r\n\r\n") as (port, heard):
        proxy = opened(f"localhost:{port}")
        head = f"GET http://localhost:{port}/a?b HTTP/1.1\r\nHost: evil.example\r\n"
        ask(proxy, f"{head}Proxy-Authorization: x\r\nAccept: y\r\n\r\n".encode())

    (request,) = heard
    assert request.decode().split("\r\n") == [
        "GET /a?b HTTP/1.1", f"Host: localhost:{port}", "Accept: y", "Connection: close", "", "",
    ]  # fmt: skip


def test_another_host_is_refused_and_named(opened):
    with server() as (port, heard):
        proxy = opened("example.org")
        said = ask(proxy, connect(port))

    assert said.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert f"localhost:{port}".encode() in said
    assert proxy.records == (
        ("localhost", port, messages.HOST_NOT_LISTED.format(entry=f"localhost:{port}")),
    )
    assert heard == []


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "::1", "fe80::1", "fd00::1",
     "::ffff:127.0.0.1", "64:ff9b::7f00:1", "224.0.0.1", "0.0.0.0", "100.64.0.1", "fec0::1",
     "::127.0.0.1", "::ffff:0:7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::1"],
)  # fmt: skip
def test_a_listed_name_that_leads_to_this_network_is_refused(opened, address):
    proxy = opened("example.org", resolve=lambda host, port: [address])

    said = ask(proxy, connect(443, "example.org"))

    assert said.startswith(b"HTTP/1.1 403")
    assert proxy.records == (
        ("example.org", 443, messages.HOST_IS_LOCAL.format(entry="example.org:443")),
    )


@pytest.mark.parametrize(
    "host", ["a..example.org", ".example.org", f"{'a' * 64}.example.org", "evil.com#.example.org"]
)
def test_what_is_no_name_matches_no_pattern(opened, host):
    proxy = opened("*.example.org", resolve=lambda host, port: pytest.fail("resolved"))

    assert ask(proxy, connect(443, host)).startswith(b"HTTP/1.1 403")
    assert proxy.records == ((host, 443, messages.HOST_NOT_LISTED.format(entry=host)),)


def test_the_entry_for_this_machine_has_the_port(opened):
    said = ask(opened("localhost"), connect(80, "localhost"))

    assert b"'localhost:80'" in said


def test_a_name_that_cannot_be_encoded_is_refused(opened):
    def resolve(host, port):
        raise UnicodeError("label too long")

    proxy = opened("example.org", resolve=resolve)

    assert ask(proxy, connect(443, "example.org")).startswith(b"HTTP/1.1 403")


def test_a_name_that_changes_its_address_is_resolved_once(opened, monkeypatch):
    answers = [["93.184.216.34"], ["127.0.0.1"]]
    asked, reached = [], []

    def resolve(host, port):
        asked.append(host)
        return answers[min(len(asked), 2) - 1]

    def refuse(address, timeout):
        reached.append(address)
        raise OSError

    monkeypatch.setattr(socket, "create_connection", refuse)
    proxy = opened("example.org", resolve=resolve)
    ask(proxy, connect(443, "example.org"))
    ask(proxy, connect(443, "example.org"))

    assert reached == [("93.184.216.34", 443)]
    assert [one.refused for one in proxy.records] == [
        messages.HOST_NOT_REACHED,
        messages.HOST_IS_LOCAL.format(entry="example.org:443"),
    ]


@pytest.mark.parametrize(
    "request_head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET https://example.org/ HTTP/1.1\r\n\r\n",
        b"GET http://user@example.org/ HTTP/1.1\r\n\r\n",
        b"CONNECT example.org:99999 HTTP/1.1\r\n\r\n",
        b"CONNECT exa mple.org:443 HTTP/1.1\r\n\r\n",
        b"CONNECT " + b"a." * 200 + b"example.org:443 HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost : other.example\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA: b\r\n Host: other.example\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA: b\nHost: other.example\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA: b\rHost: other.example\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA\r\n\r\n",
        b"GET http://example.org@other.example/ HTTP/1.1\r\n\r\n",
        b"GET http://example.org:80@other.example/ HTTP/1.1\r\n\r\n",
        b"GET\thttp://example.org/ HTTP/1.1\r\n\r\n",
        b"GET http://example.org/\r\n\r\n",
        b"CONNECT example.org:443@other.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT http://example.org:443/ HTTP/1.1\r\n\r\n",
        b"CONNECT example.org:443 HTTP/1.1\nHost: a\r\n\r\n",
        b"CONNECT example.org:443,other.example:443 HTTP/1.1\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nA: " + b"x" * 40_000,
    ],
)
def test_what_cannot_be_understood_is_refused(opened, request_head):
    proxy = opened("example.org", resolve=lambda host, port: pytest.fail("resolved"))

    assert ask(proxy, request_head).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert proxy.records == ()


@pytest.mark.parametrize(
    "request_head",
    [
        # The target decides, not what the fields say.
        b"CONNECT other.example:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n",
        b"GET http://other.example/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"GET http://other.example#.example.org/ HTTP/1.1\r\n\r\n",
        b"GET http://other.example?.example.org/ HTTP/1.1\r\n\r\n",
        b"GET http://other.example\\.example.org/ HTTP/1.1\r\n\r\n",
        # Addresses, in whatever form.
        b"CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 0177.0.0.1:443 HTTP/1.1\r\n\r\n",
        b"CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1\r\n\r\n",
        b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n",
        # Another port of a listed host.
        b"CONNECT www.example.org:22 HTTP/1.1\r\n\r\n",
        b"CONNECT example.org:25 HTTP/1.1\r\n\r\n",
        b"CONNECT example.org.other.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT exampleXorg:443 HTTP/1.1\r\n\r\n",
    ],
)
def test_what_leads_past_the_list_is_refused(opened, request_head):
    proxy = opened(
        "example.org", "*.example.org", resolve=lambda host, port: pytest.fail("resolved")
    )

    assert ask(proxy, request_head).startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))


def test_closing_ends_open_connections():
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        proxy = ConnectProxy([f"localhost:{port}"])
        ours, theirs = socket.socketpair()
        proxy.serve(theirs)
        with ours:
            ours.settimeout(TIMEOUT_S)
            ours.sendall(connect(port))
            assert b"200" in ours.recv(1000)
            proxy.close()
            assert ours.recv(1) == b""
