"""Handshake sessions over HTTP while their transports are closed and opened again."""

from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ListToolsResult, Tool
from tests.mcp.server.test_http import JSON, initialize

from handrail.mcp.server import handshakes
from handrail.mcp.server.handshakes import MOST_OPEN, HandshakeManager

pytestmark = pytest.mark.finding("F78")
LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}


@asynccontextmanager
async def serving(busy=(), **options):
    """A manager whose one tool is named after the client, and a client that posts to it."""

    async def list_tools(ctx, params):
        name = ctx.session.client_params.client_info.name
        return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"})])

    manager = HandshakeManager(
        may_suspend=lambda session_id: session_id not in busy,
        app=Server("named", on_list_tools=list_tools),
        json_response=True,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        **{"session_idle_timeout": 60, **options},
    )
    async with manager.run():
        transport = httpx2.ASGITransport(manager.handle_request)
        async with httpx2.AsyncClient(transport=transport, base_url="http://server") as client:
            yield manager, client


async def open_session(client, name="raw"):
    message = initialize()
    message["params"]["clientInfo"]["name"] = name
    answer = await client.post("/", headers=JSON, json=message)
    assert answer.status_code == 200, answer.text
    return {**JSON, "Mcp-Session-Id": answer.headers["mcp-session-id"]}


async def open_others(client, count=MOST_OPEN):
    for _ in range(count):
        await open_session(client)


def is_open(manager, session):
    return session["Mcp-Session-Id"] in manager._server_instances


async def test_transports_of_idle_sessions_are_closed():
    async with serving() as (manager, client):
        first = await open_session(client)
        await open_others(client, 2 * MOST_OPEN)

        assert not is_open(manager, first)
        assert len(manager._server_instances) <= MOST_OPEN


async def test_the_next_request_of_a_session_opens_its_transport_again():
    async with serving() as (manager, client):
        first = await open_session(client, "first")
        await open_others(client)
        before = is_open(manager, first)

        answer = await client.post("/", headers=first, json=LIST)

        assert not before
        assert is_open(manager, first)
        assert answer.json()["result"]["tools"][0]["name"] == "first"


async def test_a_session_that_is_in_use_keeps_its_transport():
    busy = set()
    async with serving(busy) as (manager, client):
        first = await open_session(client)
        busy.add(first["Mcp-Session-Id"])
        kept = manager._server_instances[first["Mcp-Session-Id"]]
        await open_others(client)

        assert manager._server_instances[first["Mcp-Session-Id"]] is kept


async def test_a_session_that_was_ended_is_not_found():
    async with serving() as (_, client):
        first = await open_session(client)
        await open_others(client)

        ended = await client.delete("/", headers=first)
        after = await client.post("/", headers=first, json=LIST)

        assert (ended.status_code, after.status_code) == (200, 404)


async def test_a_session_that_was_idle_for_too_long_is_not_found(monkeypatch):
    async with serving() as (_, client):
        first = await open_session(client)
        await open_others(client)
        now = handshakes.anyio.current_time() + 61
        monkeypatch.setattr(handshakes.anyio, "current_time", lambda: now)

        answer = await client.post("/", headers=first, json=LIST)

        assert answer.status_code == 404


async def test_of_too_many_sessions_the_oldest_is_forgotten():
    async with serving(max_sessions=MOST_OPEN + 2) as (_, client):
        first, second = await open_session(client), await open_session(client, "second")
        await open_others(client, MOST_OPEN + 1)

        forgotten = await client.post("/", headers=first, json=LIST)
        kept = await client.post("/", headers=second, json=LIST)

        assert (forgotten.status_code, kept.status_code) == (404, 200)
