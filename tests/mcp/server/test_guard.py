"""The guard in front of the HTTP server by itself, behind whatever parser lets a request through."""

import json
import os
import socket

import pytest

from handrail.core.problems import ProblemRaised
from handrail.mcp.server.guard import (
    APPROVAL_HEADER,
    APPROVALS,
    CALLS,
    Guard,
    Tokens,
    load_tokens,
    token_file,
)

HOST = "127.0.0.1:7777"
ORIGIN = f"http://{HOST}"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
TOKENS = Tokens("calls", "approvals")


@pytest.fixture
def post():
    """Send one message through the guard; the status, or None if it was let through."""

    async def send_message(body=PING, *, headers=()):
        reached, sent = [], []

        async def app(scope, receive, send):
            reached.append(await receive())

        async def receive():
            return {"type": "http.request", "body": json.dumps(body).encode()}

        async def send(message):
            sent.append(message)

        given = [
            ("authorization", f"Bearer {TOKENS.calls}"),
            ("content-type", "application/json"),
            *headers,
        ]
        scope = {
            "type": "http",
            "path": "/mcp",
            "method": "POST",
            "headers": [(name.encode(), value.encode()) for name, value in given],
        }
        await Guard(app, TOKENS, {HOST}, {ORIGIN})(scope, receive, send)
        assert bool(reached) is not bool(sent)
        return sent[0]["status"] if sent else None

    return send_message


@pytest.mark.finding("F26")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("host", HOST)], None),
        ([], 421),
        ([("host", "evil.example")], 421),
        ([("host", HOST), ("host", "evil.example")], 421),
        ([("host", "evil.example"), ("host", HOST)], 421),
        ([("host", HOST), ("host", HOST)], 421),
        ([("host", HOST), ("origin", ORIGIN)], None),
        ([("host", HOST), ("origin", ORIGIN), ("origin", "https://evil.example")], 403),
        ([("host", HOST), ("origin", ORIGIN), ("origin", ORIGIN)], 403),
        ([("host", HOST), ("authorization", "Bearer x")], 401),
    ],
)
async def test_a_header_that_decides_is_there_once(post, headers, status):
    assert await post(headers=headers) == status


@pytest.mark.finding("F26")
@pytest.mark.parametrize(
    "body",
    [
        {**PING, "error": {"code": -1, "message": "no"}},
        {**PING, "error": None},
        {**PING, "result": {"action": "accept"}},
        {**PING, "method": None, "error": {"code": -1, "message": "no"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}},
    ],
)
async def test_what_could_pass_for_an_answer_needs_the_right_to_approve(post, body):
    """A reader that looks for `error` first would take a request with both for an answer."""
    host = ("host", HOST)

    assert await post(body, headers=[host]) == 403
    assert await post(body, headers=[host, (APPROVAL_HEADER, "x")]) == 403
    assert await post(body, headers=[host, (APPROVAL_HEADER, TOKENS.approvals)]) is None


@pytest.mark.finding("F26")
def test_a_second_host_is_refused_by_the_server_that_runs(serve_http):
    server = serve_http()
    address = server.url.removeprefix("http://").partition("/")[0]
    host, _, port = address.rpartition(":")
    body = json.dumps(PING).encode()
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: {address}",
        "Host: evil.example",
        f"Authorization: {server.headers['Authorization']}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        status = connection.makefile("rb").readline()

    assert status.split()[1] in (b"400", b"421")


def test_tokens_are_made_once_and_renewed_when_asked():
    before = len(os.listdir("/proc/self/fd"))
    first = load_tokens()

    assert len(os.listdir("/proc/self/fd")) == before
    assert len(first.calls) >= 32
    assert first.calls != first.approvals
    assert load_tokens() == first
    files = list(token_file(CALLS).parent.iterdir())
    assert {one.name for one in files} == {CALLS, APPROVALS}
    assert {one.stat().st_mode & 0o777 for one in files} == {0o600}
    renewed = load_tokens(renew=True)
    assert renewed.calls != first.calls
    assert renewed.approvals != first.approvals
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("how", ["readable", "short", "linked", "folder"])
def test_tokens_that_others_could_know_are_not_used(tmp_path, how):
    load_tokens()
    file = token_file(APPROVALS)
    if how == "readable":
        file.chmod(0o640)
    elif how == "short":
        file.write_text("x" * 31)
    else:
        file.rename(tmp_path / "other")
        file.mkdir(0o700) if how == "folder" else file.symlink_to(tmp_path / "other")

    with pytest.raises(ProblemRaised) as raised:
        load_tokens()

    assert raised.value.problem.code == "unavailable"


@pytest.mark.parametrize(
    ("token", "calls", "approves"),
    [("calls", True, False), ("approvals", False, True), (None, False, False), ("é", False, False)],
)
def test_each_token_is_for_one_purpose(token, calls, approves):
    assert (TOKENS.may_call(token), TOKENS.may_approve(token)) == (calls, approves)


def test_a_token_file_that_cannot_be_opened_is_refused_with_the_reason():
    load_tokens()
    path = token_file(CALLS)
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")

    with pytest.raises(ProblemRaised, match="Too many levels") as raised:
        load_tokens()

    # The reason alone: the message names the file itself.
    assert "Errno" not in raised.value.problem.message
    assert load_tokens(renew=True).calls == path.read_text().strip()
    assert not path.is_symlink()
