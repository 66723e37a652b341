"""Addresses of hosts."""

import pytest

from handrail.host.resolver import resolve_addresses


@pytest.mark.parametrize(
    ("host", "addresses"),
    [("127.0.0.1", ["127.0.0.1"]), ("::1", ["::1"]), ("a..b", []), ("x" * 300, [])],
)
async def test_a_host_has_its_addresses_or_none(host, addresses):
    assert await resolve_addresses(host, 80) == addresses


async def test_each_address_is_named_once():
    found = await resolve_addresses("localhost", 443)

    assert found
    assert set(found) <= {"127.0.0.1", "::1"}
    assert len(found) == len(set(found))
