"""The server over HTTP: who is let in, who may approve, several clients and workspaces."""

import asyncio
import json
import os
import socket
import stat
import time
from pathlib import Path
from types import SimpleNamespace

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp_types import ElicitResult
from tests.mcp.server.conftest import ERAS
from tests.support.waiting import wait_until_async

from handrail.core.problems import ProblemRaised
from handrail.host.http_serving import listen
from handrail.mcp.server import session_pool
from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.guard import CALLS, load_tokens, token_file
from handrail.mcp.server.session import ClientSession
from handrail.mcp.server.session_pool import SessionPool
from handrail.mcp.server.stdio import MAX_BYTES

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
WRITE = {"path": "b.txt", "content": "x\n"}
both_eras = pytest.mark.parametrize("era", ERAS)


def initialize():
    info = {"name": "raw", "version": "0"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


async def yes(context, params):
    await anyio.sleep(0.3)
    return ElicitResult(action="accept", content={"answer": "yes"})


@both_eras
async def test_a_client_with_both_tokens_calls_and_approves(serve_http, root, era):
    server = serve_http()

    async with server.client(era, elicitation_callback=yes) as client:
        read = await client.call_tool("read_file", {"path": "a.txt"})
        written = await client.call_tool("write_file", WRITE)

    assert read.structured_content["path"] == "a.txt"
    assert not written.is_error
    assert (root / "b.txt").exists()


@both_eras
async def test_the_token_for_calls_approves_nothing(serve_http, root, era):
    server = serve_http()

    async with server.client(era, approving=False, elicitation_callback=yes) as client:
        written = await client.call_tool("write_file", WRITE)

    assert written.meta["handrail/result"]["problem"]["code"] == "needs_approval"
    assert not (root / "b.txt").exists()


def test_who_is_not_let_in(serve_http):
    server = serve_http()
    port = server.url.rpartition(":")[2].partition("/")[0]
    bearer = server.headers["Authorization"]
    good = {**JSON, "Authorization": bearer}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}
    odd = {**answer, "method": 5}
    refusal = {**PING, "error": {"code": -1, "message": "no"}}
    attempts = {
        "no token": (JSON, PING, 401),
        "wrong token": ({**JSON, "Authorization": "Bearer x"}, PING, 401),
        "another scheme": ({**JSON, "Authorization": bearer.replace("Bearer", "Basic")}, PING, 401),
        "a token in a cookie": ({**JSON, "Cookie": f"token={bearer[7:]}"}, PING, 401),
        "rebound host": ({**good, "Host": f"evil.example:{port}"}, PING, 421),
        "host without port": ({**good, "Host": "localhost"}, PING, 421),
        "a page's origin": ({**good, "Origin": "https://evil.example"}, PING, 403),
        "another local page": ({**good, "Origin": "http://localhost:3000"}, PING, 403),
        "a null origin": ({**good, "Origin": "null"}, PING, 403),
        "a form's content type": ({**good, "Content-Type": "text/plain"}, PING, 415),
        "an answer without the right to": (good, answer, 403),
        "one that looks like a request": (good, {**answer, "method": "ping"}, 403),
        "one with a method that is none": (good, odd, 403),
        "a refusal that looks like a request": (good, refusal, 403),
        "one in a list": (good, [answer], 400),
    }

    found = {
        name: httpx2.post(server.url, headers=headers, content=json.dumps(body)).status_code
        for name, (headers, body, _) in attempts.items()
    }
    query = httpx2.post(f"{server.url}?token={bearer[7:]}", headers=JSON, json=PING)
    preflight = httpx2.options(server.url, headers={"Origin": "https://evil.example"})
    elsewhere = httpx2.post(server.url + "/../x", headers=good, json=PING)

    assert found == {name: status for name, (_, _, status) in attempts.items()}
    assert query.status_code == 401
    assert preflight.status_code == 403
    assert elsewhere.status_code == 404
    # Nobody is told what serves them, or the time of this machine.
    assert not {"server", "date"} & {*query.headers, *elsewhere.headers}
    assert not [name for name in preflight.headers if name.startswith("access-control")]


def test_bad_messages_are_answered_and_the_server_goes_on(serve_http):
    server = serve_http()
    headers = {**JSON, **server.headers}
    sent = {
        b"{": 400,
        b"\xff": 400,
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}': 400,
        b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}': 400,
        b"[" * 100_000: 400,
        b" " * (MAX_BYTES + 1): 413,
    }

    found = {
        data: httpx2.post(server.url, headers=headers, content=data).status_code for data in sent
    }
    hello = httpx2.post(server.url, headers=headers, json=initialize())
    unknown = posted(server, hello, {"jsonrpc": "2.0", "id": 7, "method": "no/such"})

    assert found == sent
    assert hello.status_code == 200
    assert unknown["error"]["code"] == -32601


def posted(server, hello, message):
    """The answer to a message in the session that `hello` began."""
    session = {"Mcp-Session-Id": hello.headers["mcp-session-id"]}
    headers = {**JSON, **server.headers, **session, "MCP-Protocol-Version": "2025-11-25"}
    body = httpx2.post(server.url, headers=headers, json=message, timeout=30).text
    return json.loads(body.partition("data: ")[2] or body)


def test_the_same_request_again_in_a_session_returns_what_was_recorded(serve_http, root):
    server = serve_http("--mode", "accept-edits")
    hello = httpx2.post(server.url, headers={**JSON, **server.headers}, json=initialize())
    append = {"path": "log.txt", "content": "once\n", "mode": "append"}
    params = {"name": "write_file", "arguments": append}
    request = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}

    first, again = (posted(server, hello, request) for _ in range(2))

    assert first["result"]["content"] == again["result"]["content"]
    assert (root / "log.txt").read_text() == "once\n"


async def test_a_question_that_was_overheard_cannot_be_answered_with_the_token_for_calls(
    serve_http, root
):
    server = serve_http()
    keyed = {"meta": {"handrail/call-id": "k"}, "allow_input_required": True}
    yes_to_it = {"approval": ElicitResult(action="accept", content={"answer": "yes"})}

    async with server.client(elicitation_callback=yes) as person:
        asked = await person.session.call_tool("write_file", WRITE, **keyed)
        async with server.client(approving=False, elicitation_callback=yes) as other:
            with pytest.raises(MCPError, match="not approve"):
                await other.session.call_tool(
                    "write_file",
                    WRITE,
                    input_responses=yes_to_it,
                    request_state=asked.request_state,
                    **keyed,
                )
        before = (root / "b.txt").exists()
        await person.session.call_tool(
            "write_file",
            WRITE,
            input_responses=yes_to_it,
            request_state=asked.request_state,
            **keyed,
        )

    assert not before
    assert (root / "b.txt").exists()


def test_a_body_without_a_length_is_cut_off(serve_http):
    server = serve_http()

    def endless():
        for _ in range(100):
            yield b" " * 1_000_000

    try:
        status = httpx2.post(
            server.url, headers={**JSON, **server.headers}, content=endless(), timeout=30
        ).status_code
    except httpx2.TransportError:
        status = 413
    rss = Path(f"/proc/{server.process.pid}/status").read_text()

    assert status == 413
    assert int(rss.partition("VmHWM:")[2].split()[0]) < 300_000


def test_half_open_connections_do_not_keep_others_out(serve_http):
    server = serve_http()
    place = ("127.0.0.1", int(server.url.rpartition(":")[2].partition("/")[0]))
    silent = [socket.create_connection(place) for _ in range(200)]
    for number, one in enumerate(silent):
        one.sendall(b"POST /mcp HTTP/1.1\r\nHost:" if number % 2 else b"")

    hello = httpx2.post(server.url, headers={**JSON, **server.headers}, json=initialize())
    deadline = time.monotonic() + 30
    closed = [_is_closed(one, deadline) for one in silent]

    assert hello.status_code == 200
    assert closed == [True] * 200


def test_half_a_second_request_does_not_keep_a_connection(serve_http):
    server = serve_http()
    port = int(server.url.rpartition(":")[2].partition("/")[0])
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
    for one in connections:
        one.sendall(f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    refused = [one.recv(1000) for one in connections]
    for one in connections:
        one.sendall(b"GET /mcp HTTP/1.1\r\nHost:")

    deadline = time.monotonic() + 30
    closed = [_is_closed(one, deadline) for one in connections]

    assert all(one.startswith(b"HTTP/1.1 401") for one in refused)
    assert closed == [True] * 5


def _is_closed(connection, deadline):
    with connection:
        connection.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            return connection.recv(1000) == b"" or _is_closed(connection, deadline)
        except TimeoutError:
            return False
        except OSError:
            return True


@both_eras
async def test_every_client_has_its_own_session(serve_http, root, era):
    server = serve_http("--mode", "accept-edits")

    async with (
        server.client(era, more={"Handrail-Session": "one"}) as one,
        server.client(era, more={"Handrail-Session": "two"}) as two,
    ):
        await one.call_tool("write_file", WRITE)
        other = await two.call_tool("undo", {})
        own = await one.call_tool("undo", {})

    assert other.is_error
    assert not own.is_error
    assert not (root / "b.txt").exists()


async def test_a_stale_session_id_means_nothing_where_there_are_no_sessions(serve_http, root):
    server = serve_http("--mode", "accept-edits")
    append = {"path": "log.txt", "content": "x\n", "mode": "append"}

    # Each connection counts its requests from the start: as ids of one session they would
    # be the same call.
    for _ in range(2):
        async with server.client(more={"Mcp-Session-Id": "0" * 32}) as client:
            await client.call_tool("write_file", append)

    assert (root / "log.txt").read_text() == "x\nx\n"


async def test_several_workspaces_are_served_at_once(serve_http, root, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("elsewhere\n")
    server = serve_http("--add", f"other={other}")

    async with server.client() as client:
        here = await client.call_tool("read_file", {"path": "a.txt"})
    server.url += "/other"
    async with server.client() as client:
        there = await client.call_tool("read_file", {"path": "a.txt"})

    assert here.content[0].text == "hello"
    assert there.content[0].text == "elsewhere"


async def test_two_hundred_calls_at_once_are_all_answered(serve_http):
    server = serve_http()
    results = []

    async with server.client() as client:

        async def read(number):
            results.append(
                await client.call_tool("read_file", {"path": "a.txt", "limit": number + 1})
            )

        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(read, number)

    assert [result.content[0].text for result in results] == ["hello"] * 200


@both_eras
@pytest.mark.finding("F78")
async def test_equal_calls_at_once_are_not_a_loop(serve_http, era):
    server = serve_http()
    failed = []

    async def read(client):
        result = await client.call_tool("read_file", {"path": "a.txt"})
        if result.is_error:
            failed.append(result.content[0].text)

    with anyio.fail_after(100):
        async with (
            server.client(era) as first,
            server.client(era) as second,
            anyio.create_task_group() as group,
        ):
            for client in [first, second] * 250:
                group.start_soon(read, client)

    assert failed == []


async def test_ending_the_server_ends_the_jobs_of_all_clients(serve_http):
    import subprocess

    server = serve_http("--mode", "sandboxed")
    async with server.client() as client:
        await client.call_tool("run_command", {"command": "sleep 811", "background": True})
        server.process.terminate()
        code = await anyio.to_thread.run_sync(server.process.wait, 30)

    left = subprocess.run(["pgrep", "-fx", "sleep 811"], capture_output=True, check=False).stdout
    assert (code, left) == (0, b"")


def test_tokens_lie_in_files_of_the_person_alone():
    tokens = load_tokens()
    path = token_file(CALLS)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() == tokens.calls
    assert tokens.calls != tokens.approvals
    assert tokens.calls not in repr(tokens)
    assert load_tokens() == tokens
    assert load_tokens(renew=True).calls != tokens.calls


@pytest.mark.parametrize("spoil", ["mode", "link", "short", "folder"])
def test_a_token_that_others_could_know_is_not_used(spoil, tmp_path):
    load_tokens()
    path = token_file(CALLS)
    if spoil == "mode":
        path.chmod(0o644)
    elif spoil == "short":
        path.write_text("x")
    else:
        path.unlink()
        if spoil == "folder":
            path.mkdir()
        else:
            (tmp_path / "t").write_text("y" * 43)
            os.symlink(tmp_path / "t", path)

    with pytest.raises(ProblemRaised, match="token"):
        load_tokens()


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", ":70000", "localhost", "127.0.0.1:x"])
def test_an_address_that_is_none_or_that_others_reach_is_refused(address):
    with pytest.raises(ProblemRaised) as raised:
        listen(address)

    assert raised.value.problem.code == "invalid_arguments"


def test_an_address_that_others_reach_can_be_insisted_on():
    with listen("0.0.0.0:0", exposed=True) as listening:
        assert listening.getsockname()[0] == "0.0.0.0"


async def test_an_idle_session_is_closed_and_a_used_one_is_not():
    context = asking("s")
    now = [0.0]
    sessions = SessionPool(ServerConfig(open=None), idle_s=10, clock=lambda: now[0])
    first = sessions.find(context)
    with sessions.using("s"):
        now[0] = 11
        await sessions.close_idle()
        kept = sessions.find(context)
    now[0] = 22
    await sessions.close_idle()

    assert kept is first
    assert sessions.find(context) is not first


async def test_idle_sessions_are_looked_for_again_and_again(monkeypatch):
    monkeypatch.setattr(session_pool, "_LOOK_S", 0)
    looks, now = [], [0.0]
    offer = ServerConfig(open=None, tidy=lambda: looks.append(now[0]))
    sessions = SessionPool(offer, idle_s=10, clock=lambda: now[0])
    first = sessions.find(asking("s"))
    now[0] = 11

    watch = asyncio.create_task(sessions.watch())
    await wait_until_async(lambda: watch.done() or len(looks) >= 2)
    ended = watch.done()
    watch.cancel()
    await asyncio.wait([watch], timeout=10)

    assert not ended
    assert sessions.find(asking("s")) is not first


def asking(session_id):
    headers = {"mcp-session-id": session_id}
    request = SimpleNamespace(headers=headers)
    return SimpleNamespace(request=request, protocol_version="2025-11-25")


async def test_the_client_that_was_idle_longest_makes_room_for_a_new_one():
    now = iter(range(100))
    sessions = SessionPool(ServerConfig(open=None), most=2, clock=lambda: next(now))
    first, second = sessions.find(asking("1")), sessions.find(asking("2"))

    with sessions.using("1"):
        sessions.find(asking("3"))
        kept = sessions.find(asking("1"))
    await sessions.aclose()

    assert kept is first
    assert sessions.find(asking("2")) is not second


async def test_nobody_is_thrown_out_in_the_middle_of_something():
    sessions = SessionPool(ServerConfig(open=None), most=1)
    sessions.find(asking("1"))

    with sessions.using("1"), pytest.raises(MCPError, match="too many clients"):
        sessions.find(asking("2"))


@pytest.mark.finding("F38")
def test_the_health_of_the_server_needs_no_token(serve_http):
    server = serve_http()
    health = server.url.removesuffix("/mcp") + "/healthz"

    healthy = httpx2.get(health)
    proxied = httpx2.get(health, headers={"Host": "10.0.0.7:80"})
    page = httpx2.get(health, headers={"Origin": "https://evil.example"})
    posted = httpx2.post(health, json=PING)

    assert (healthy.status_code, healthy.json()) == (200, {"status": "ok"})
    assert proxied.status_code == 200
    assert (page.status_code, posted.status_code) == (403, 401)


async def test_only_so_many_calls_wait_for_an_answer_and_the_oldest_gets_none():
    class Waiting:
        def __init__(self, state):
            self.state, self.replies = state, []

        def reply(self, answer):
            self.replies.append(answer)

    session = ClientSession(ServerConfig(open=None), own_ids=True)
    calls = [Waiting(f"s{number}") for number in range(257)]

    for call in calls[:256]:
        session.park(call.state, call)
    waiting = [session.parked(call.state) is call for call in calls[:256]]
    session.park(calls[256].state, calls[256])

    assert all(waiting)
    assert (session.parked("s0"), session.parked("s256")) == (None, calls[256])
    assert [call.replies for call in calls[:2]] == [[None], []]
