"""The socket of our own HTTP servers: where it listens, and how it is named."""

import socket

import pytest

from handrail.core.problems import ProblemRaised
from handrail.host.http_serving import listen, own_hosts, server_url


@pytest.mark.parametrize("address", ["127.0.0.1:0", ":0", "localhost:0"])
def test_a_server_listens_on_this_machine(address):
    with listen(address) as made:
        host, port = made.getsockname()[:2]

        assert port > 0
        assert server_url(made, "/x") == f"http://{'[::1]' if ':' in host else host}:{port}/x"
        assert {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"} <= own_hosts(made)
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_address_of_other_machines_must_be_wanted():
    with pytest.raises(ProblemRaised) as raised:
        listen("0.0.0.0:0")
    assert raised.value.problem.field == "http"

    with listen("0.0.0.0:0", exposed=True) as made:
        port = made.getsockname()[1]
        assert own_hosts(made) == {
            f"127.0.0.1:{port}",
            f"localhost:{port}",
            f"[::1]:{port}",
            f"0.0.0.0:{port}",
        }


@pytest.mark.parametrize(
    "address", ["", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "a b:1"]
)
def test_what_is_no_address_is_a_problem(address):
    with pytest.raises(ProblemRaised):
        listen(address)


def test_a_port_that_is_taken_is_a_problem():
    with listen("127.0.0.1:0") as made, pytest.raises(ProblemRaised):
        listen(f"127.0.0.1:{made.getsockname()[1]}")
