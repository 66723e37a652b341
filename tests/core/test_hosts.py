"""Lists of hosts: what an entry means, and what is no entry."""

import re

import pytest

from handrail.core.names.hosts import HostEntry, HostList, parse_host_entry, suggest_entry


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


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("example.org", True),
        ("a.example.net", True),
        ("example.net", False),
        ("127.0.0.1", True),
        ("::1", True),
        ("other.example", False),
        ("no host", False),
    ],
)
def test_a_host_is_known_at_whatever_port(host, known):
    listed = HostList(["example.org:8080", "*.example.net", "127.0.0.1:9000", "[::1]:9000"])

    assert listed.knows(host) is known


@pytest.mark.parametrize(
    ("host", "port", "entry"),
    [
        ("example.org", 80, "example.org"),
        ("example.org", 443, "example.org"),
        ("example.org", 8080, "example.org:8080"),
        ("localhost", 80, "localhost:80"),
        ("app.localhost", 443, "app.localhost:443"),
        ("127.0.0.1", 80, "127.0.0.1:80"),
        ("::1", 80, "[::1]:80"),
    ],
)
def test_the_suggested_entry_allows_the_host(host, port, entry):
    assert suggest_entry(host, port) == entry
    assert HostList([entry]).allows(host, port)


def test_the_suggested_entry_of_a_local_host_names_it_exactly():
    entry = suggest_entry("intranet.example", 443, local=True)

    assert HostList([entry]).names("intranet.example", 443)


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("http://localhost:8765/", "localhost:8765"),
        ("https://example.org/a?b", "example.org"),
        ("http://[::1]:80", "[::1]:80"),
    ],
)
def test_an_address_of_a_page_is_refused_with_the_entry_to_write(url, entry):
    with pytest.raises(ValueError, match=re.escape(f'write "{entry}"')):
        parse_host_entry(url)
