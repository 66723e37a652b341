"""Servers of protocol 2024-11-05 over HTTP, as they were before the protocol's later versions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.client.approving import approve_servers
from tests.mcp.client.old_http_server import OldHttpServer

import handrail
from handrail.cli.main import main


@pytest.mark.feature("R-21")
@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("events", [False, True], ids=["json", "events"])
async def test_a_server_of_the_first_protocol_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: bool, strict: bool
) -> None:
    server = OldHttpServer(events=events, strict=strict)
    monkeypatch.setenv("OLD_TOKEN", server.token)
    async with server.serve() as url:
        table = {"url": url, "bearer_env": "OLD_TOKEN", "call_s": 30}
        config: dict[str, Any] = {"mode": "bypass", "mcp": {"servers": {"old": table}}}
        await approve_servers(tmp_path, config)
        server.requests.clear()
        async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
            assert (await rt.call("mcp__old__add", {"a": 2, "b": 3})).text == "5"
    assert {one.headers["authorization"] for one in server.requests} == {f"Bearer {server.token}"}
    (call,) = [one for one in server.requests if (one.body or {}).get("method") == "tools/call"]
    assert call.headers["mcp-session-id"] == server.session
    assert server.requests[-1].method == "DELETE"


async def test_a_server_that_was_restarted_gets_a_new_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = OldHttpServer(events=False, strict=True)
    monkeypatch.setenv("OLD_TOKEN", server.token)
    async with server.serve() as url:
        table = {"url": url, "bearer_env": "OLD_TOKEN", "call_s": 30}
        config: dict[str, Any] = {"mode": "bypass", "mcp": {"servers": {"old": table}}}
        await approve_servers(tmp_path, config)
        async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
            assert (await rt.call("mcp__old__add", {"a": 1, "b": 1})).text == "2"
            server.session = "session-2"
            lost = await rt.call("mcp__old__add", {"a": 1, "b": 2})
            assert lost.problem is not None
            assert lost.problem.code == "unavailable"
            assert (await rt.call("mcp__old__add", {"a": 1, "b": 3})).text == "4"


@pytest.mark.feature("R-21")
async def test_a_token_in_the_settings_is_sent_and_kept_nowhere_else(tmp_path: Path) -> None:
    server, root = OldHttpServer(events=False, strict=True), tmp_path / "root"
    root.mkdir()
    async with server.serve() as url:
        table = {"url": url, "bearer_token": server.token}
        config: dict[str, Any] = {"mode": "bypass", "mcp": {"servers": {"old": table}}}
        await approve_servers(root, config)
        opening = handrail.open(root, config=config, store=tmp_path / "store")
        async with opening as rt:
            assert (await rt.call("mcp__old__add", {"a": 2, "b": 3})).text == "5"
    assert {one.headers["authorization"] for one in server.requests} == {f"Bearer {server.token}"}
    assert server.token not in repr(opening.loaded)
    files = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert any(b"mcp__old__add" in one.read_bytes() for one in files)
    assert not [one for one in files if server.token.encode() in one.read_bytes()]


@pytest.mark.feature("R-21")
@pytest.mark.parametrize("shape", ["mcp", "mcpServers"])
def test_a_token_in_the_settings_is_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: str
) -> None:
    servers: dict[str, Any] = {"old": {"url": "https://example.org/mcp"}}
    if shape == "mcp":
        servers["old"]["bearer_token"] = "q1q1"
        servers = {"servers": servers}
    else:
        servers["old"]["headers"] = {"Authorization": "Bearer q1q1"}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({shape: servers}), "utf-8")
    for words in (["config", "show", "--json"], ["config", "show"], ["mcp", "list"]):
        assert main([*words, "--workspace", str(tmp_path), "--config", str(file)]) == 0
        printed = capsys.readouterr().out
        assert "old" in printed
        assert '"bearer_token": "***"' in printed or "--json" not in words
        assert "q1q1" not in printed


@pytest.mark.feature("R-21")
@pytest.mark.parametrize(
    "more",
    [
        {"bearer_token": "q1 q1"},
        {"bearer_token": "q1q1\r\nX: y"},
        {"bearer_token": "q1q1", "bearer_env": "A"},
    ],
    ids=["blank", "header", "two"],
)
def test_what_is_no_token_is_refused_and_not_repeated(tmp_path: Path, more: dict[str, str]) -> None:
    table = {"url": "https://example.org/mcp", **more}
    with pytest.raises(handrail.ProblemRaised) as raised:
        handrail.open(tmp_path, config={"mcp": {"servers": {"old": table}}}, store=":memory:")
    assert raised.value.problem.code == "invalid_arguments"
    assert "q1" not in str(raised.value)


@pytest.mark.feature("R-21")
async def test_a_wrong_token_is_reported_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = OldHttpServer(events=False, strict=True)
    monkeypatch.setenv("OLD_TOKEN", "another-token")
    async with server.serve() as url:
        config = {"mcp": {"servers": {"old": {"url": url, "bearer_env": "OLD_TOKEN"}}}}
        with pytest.raises(handrail.ProblemRaised) as raised:
            await approve_servers(tmp_path, config)
    assert raised.value.problem.code == "unavailable"
    assert "401" in str(raised.value)
    assert "another-token" not in str(raised.value)


async def test_no_login_begins_for_a_server_that_demands_one(tmp_path: Path) -> None:
    """Nothing is requested but the server's own URL, and no port is opened for an answer."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head.split()[1].decode())
        where = f'Bearer resource_metadata="http://127.0.0.1:{port}/metadata"'
        writer.write(
            f"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: {where}\r\nContent-Length: 0\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        config = {"mcp": {"servers": {"closed": {"url": f"http://127.0.0.1:{port}/mcp"}}}}
        with pytest.raises(handrail.ProblemRaised) as raised:
            await approve_servers(tmp_path, config)
    assert raised.value.problem.code == "unavailable"
    assert "401" in str(raised.value)
    assert set(asked) == {"/mcp"}
