"""Lists of hosts: what an entry means, and what is no entry."""

import pytest

from handrail.core.names.hosts import HostEntry, HostList, parse_host_entry


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("example.org", HostEntry("example.org")),
        ("Example.ORG.", HostEntry("example.org")),
        ("*.example.org", HostEntry("example.org", below=True)),
        ("example.org:8443", HostEntry("example.org", 8443)),
        ("localhost:8080", HostEntry("localhost", 8080)),
        ("127.0.0.1:80", HostEntry("127.0.0.1", 80)),
        ("[0:0::1]:80", HostEntry("::1", 80)),
    ],
)
def test_an_entry_is_a_name_and_perhaps_a_port(text, entry):
    assert parse_host_entry(text) == entry


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.org", "*.*.org", "a b", "http://example.org", "user@example.org", "example.org/x",
     "example.org:0", "example.org:70000", "exa*mple.org", "*.127.0.0.1", "-a.org", "a..org", "ä.org"],
)  # fmt: skip
def test_what_is_no_host_is_refused(text):
    with pytest.raises(ValueError, match=r"is not a|matches too many|has no valid"):
        parse_host_entry(text)


def test_a_list_allows_its_hosts_at_their_ports():
    hosts = HostList(["example.org", "*.example.com", "localhost:8080"])

    assert hosts.allows("example.org", 443)
    assert hosts.allows("example.org", 80)
    assert hosts.allows("a.b.example.com", 443)
    assert hosts.allows("localhost", 8080)
    for host, port in (
        ("example.org", 22),
        ("sub.example.org", 443),
        ("example.com", 443),
        ("badexample.com", 443),
        ("example.com.evil.org", 443),
        ("localhost", 80),
    ):
        assert not hosts.allows(host, port)


def test_only_an_entry_with_a_port_names_a_host_exactly():
    hosts = HostList(["example.org", "localhost:8080"])

    assert hosts.names("localhost", 8080)
    assert not hosts.names("example.org", 443)
    assert not hosts.names("localhost", 80)
