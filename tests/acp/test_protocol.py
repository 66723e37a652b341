"""Lines that are not what the protocol says: each gets an error, and the server goes on."""

import json

import anyio
import pytest
from tests.acp.conftest import LIMIT_S, serving

from handrail.acp.line_transport import MAX_BYTES

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


def request(method, params=None, id=2):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


async def answers(*lines, count=1):
    """What the server answers to lines, and to `initialize` after them."""
    async with serving() as served:
        reader, writer = served.reader, served.writer
        for line in lines:
            writer.write(line + b"\n")
            with anyio.fail_after(LIMIT_S):
                await writer.drain()
        with anyio.fail_after(LIMIT_S):
            found = [json.loads(await reader.readline()) for _ in range(count)]
            writer.write(json.dumps(HELLO).encode() + b"\n")
            alive = json.loads(await reader.readline())
    assert (alive["id"], alive["result"]["protocolVersion"]) == (1, 1)
    return found


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param(b"{not json", -32700, id="not JSON"),
        pytest.param(b'{"a": 1, "a": 2}', -32700, id="a name twice"),
        pytest.param(b"\xff\xfe", -32700, id="not UTF-8"),
        pytest.param(b"[" * 100_000, -32700, id="nested deeply"),
        pytest.param(b"3", -32600, id="a number"),
        pytest.param(b"[]", -32600, id="a batch"),
        pytest.param(b'{"id": 1, "method": "initialize"}', -32600, id="no version"),
        pytest.param(b'{"jsonrpc": "2.0"}', -32600, id="nothing"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 1}', -32600, id="no result"),
        pytest.param(b'{"jsonrpc": "2.0", "id": {}, "method": "x"}', -32600, id="id an object"),
        pytest.param(b'{"jsonrpc": "2.0", "id": true, "result": 1}', -32600, id="id a boolean"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600, id="method a number"),
        pytest.param(
            b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": [1]}', -32600, id="params a list"
        ),
        pytest.param(b'{"x": "' + b"a" * MAX_BYTES + b'"}', -32600, id="too long"),
    ],
)
async def test_a_line_that_is_no_message_is_answered_with_an_error(line, code):
    (answer,) = await answers(line)

    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert len(json.dumps(answer)) < 2_000


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param(request("session/dance"), -32601, id="unknown method"),
        pytest.param(request("_vendor/x"), -32601, id="unknown extension"),
        pytest.param(request("authenticate", {"methodId": "x"}), -32601, id="authenticate"),
        pytest.param(request("initialize"), -32602, id="no params"),
        pytest.param(request("session/new", {"cwd": 7}), -32602, id="cwd a number"),
        pytest.param(
            request("session/prompt", {"sessionId": "none", "prompt": []}), -32002, id="no session"
        ),
        pytest.param(
            request("session/prompt", {"sessionId": "x", "prompt": [{"type": "a" * 9999}]}),
            -32602,
            id="unknown content",
        ),
        pytest.param(
            request("session/set_mode", {"sessionId": "\u001b[2J", "modeId": "plan"}),
            -32002,
            id="escape in the id",
        ),
        pytest.param(request("session/close", {"sessionId": ""}), -32002, id="empty id"),
    ],
)
async def test_a_request_that_cannot_be_met_is_refused(line, code):
    (answer,) = await answers(line)

    assert (answer["id"], answer["error"]["code"]) == (2, code)
    assert "\x1b" not in answer["error"]["message"]
    assert len(json.dumps(answer)) < 20_000


@pytest.mark.parametrize("session", ["../../etc", "x' OR 1=1", "\0", "a" * 10_000])
async def test_a_session_that_is_not_recorded_cannot_be_loaded(session, root):
    at = {"sessionId": session, "cwd": str(root), "mcpServers": []}
    found = await answers(*(request(f"session/{one}", at) for one in ("load", "resume")), count=2)

    assert [one["error"]["data"]["code"] for one in found] == ["not_found"] * 2


async def test_notifications_and_late_responses_are_not_answered():
    noise = [
        {"method": "$/cancel_request", "params": {"requestId": 7}},
        {"method": "session/cancel", "params": {"sessionId": "none"}},
        {"method": "session/cancel", "params": {}},
        {"method": "unknown/thing"},
        {"id": 77, "result": {}},
        {"id": "77", "error": "not an error"},
        {"id": 77, "error": {"code": 1, "message": "late"}},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in noise]

    assert await answers(*lines, count=0) == []


async def test_mcp_servers_of_the_editor_are_not_started(root, caplog):
    server = {"name": "evil\x1b", "command": "/bin/touch", "args": [str(root / "x")], "env": []}
    (opened,) = await answers(request("session/new", {"cwd": str(root), "mcpServers": [server]}))

    assert opened["result"]["sessionId"]
    assert "evil\\x1b" in caplog.text
    assert not (root / "x").exists()


async def test_a_bug_is_an_error_of_its_request_alone(root, monkeypatch, caplog):
    monkeypatch.setattr("handrail.acp.session_methods.find_root", lambda cwd: 1 / 0)
    (answer,) = await answers(request("session/new", {"cwd": str(root), "mcpServers": []}))

    assert (answer["error"]["code"], answer["error"]["data"]["code"]) == (-32603, "internal")
    assert "ZeroDivisionError" not in json.dumps(answer)
    assert "session/new failed" in caplog.text
