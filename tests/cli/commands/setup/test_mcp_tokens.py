"""The tokens of a login to an MCP server: where they are kept, how they are used and renewed."""

import asyncio
import json
import os

import httpx2
import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response
from tests.mcp.client.login_server import LoginServer
from tests.support.logins import (
    agree,
    approve,
    begin,
    call,
    fail,
    fetch,
    log_in,
    token_files,
    write_settings,
)

import handrail as package
from handrail.assembly.extras.server_http import BoundedTransport
from handrail.host.state.directories import state_home


@pytest.fixture
def terminal(preloaded_terminal):
    return preloaded_terminal


@pytest.fixture
def server():
    with LoginServer().serve() as one:
        yield one


@pytest.fixture
def settings(tmp_path, server):
    return write_settings(tmp_path / "config.toml", server)


def test_after_a_login_the_server_is_used(terminal, handrail, settings, server):
    before = handrail("mcp", "test", "door", *settings, "--json")
    assert (before.code, before.json["problem"]["code"]) == (1, "unavailable")
    assert "handrail mcp login door" in before.json["problem"]["hint"]
    # Nothing but a login asks for anything; without a token not even the server is asked.
    assert server.requests == []
    log_in(terminal, settings)
    approve(handrail, settings)
    assert "you are logged in" in call(handrail, settings).out
    assert handrail("mcp", "logout", "door", *settings).code == 0
    assert not token_files()
    assert "handrail mcp login door" in call(handrail, settings).out


@pytest.mark.threat("A43")
def test_tokens_are_in_one_private_file_and_nowhere_else(terminal, handrail, settings, server):
    log_in(terminal, settings)
    approve(handrail, settings)
    server.end_tokens()
    shown = call(handrail, settings).out
    server.refuses_refresh = True
    server.end_tokens()
    shown += call(handrail, settings).out
    (file,) = token_files()
    assert file.stat().st_mode & 0o777 == 0o600
    assert server.given[-1].encode() in file.read_bytes()
    assert len(server.given) == 5
    for other in state_home().rglob("*"):
        if other.is_file() and other != file:
            data = other.read_bytes()
            assert not [one for one in server.given if one.encode() in data], other
    assert not [one for one in server.given if one in shown]


@pytest.mark.threat("A42")
def test_redirects_to_another_origin_are_not_followed(terminal, handrail, settings, server):
    """Neither with a code, nor with a token to renew, nor with a token."""
    with LoginServer().serve() as other:
        server.token_answer = RedirectResponse(f"{other.origin}/token", status_code=307)
        running, page = begin(terminal, settings)
        fetch(agree(page))
        fail(running)
        server.token_answer = None
        log_in(terminal, settings)
        approve(handrail, settings)
        server.call_answer = RedirectResponse(other.url, status_code=307)
        assert call(handrail, settings).code == 1
        server.token_answer = RedirectResponse(f"{other.origin}/token", status_code=307)
        server.end_tokens()
        assert call(handrail, settings).code == 1
        assert other.requests == []


def test_an_expired_token_is_renewed(terminal, handrail, settings, server):
    server.expires_in = 0
    running, page = begin(terminal, settings)
    fetch(agree(page))
    # The new token is refused at once, so that the login does not count.
    assert "refused the new token" in fail(running)
    server.expires_in = 3600
    log_in(terminal, settings)
    approve(handrail, settings)
    assert server.refreshes == 0
    (file,) = token_files()
    login = json.loads(file.read_text())
    file.write_text(json.dumps({**login, "expires_at": 1.0}))
    assert "you are logged in" in call(handrail, settings).out
    assert server.refreshes == 1
    assert "you are logged in" in call(handrail, settings).out
    assert server.refreshes == 1


def test_a_token_that_ended_early_is_renewed(terminal, handrail, settings, server):
    server.expires_in = None
    log_in(terminal, settings)
    approve(handrail, settings)
    server.end_tokens()
    assert "you are logged in" in call(handrail, settings).out
    assert server.refreshes == 1


@pytest.mark.threat("A43")
def test_a_refused_renewal_is_a_problem_and_no_login(terminal, handrail, settings, server):
    log_in(terminal, settings)
    approve(handrail, settings)
    server.refuses_refresh = True
    server.end_tokens()
    server.requests.clear()
    done = call(handrail, settings)
    assert done.code == 1
    assert done.json["problem"]["code"] == "unavailable"
    assert "handrail mcp login door" in done.json["problem"]["hint"]
    assert set(server.requests) <= {"/mcp", "/token"}


def test_a_session_renews_tokens_and_says_when_it_cannot(
    terminal, handrail, settings, server, workspace
):
    log_in(terminal, settings)
    approve(handrail, settings)

    async def use():
        async with package.open(workspace, config=settings[1], store=":memory:") as rt:
            yield await rt.call("mcp__door__whoami", {})
            server.end_tokens()
            yield await rt.call("mcp__door__whoami", {})
            server.refuses_refresh = True
            server.end_tokens()
            yield await rt.call("mcp__door__whoami", {})
            server.refuses_refresh = False
            yield await rt.call("mcp__door__whoami", {})

    async def collect():
        return [one async for one in use()]

    first, second, third, fourth = asyncio.run(collect())
    assert [one.text for one in (first, second, fourth)] == ["you are logged in"] * 3
    assert "token was refused" in third.problem.message


@pytest.mark.threat("A43")
def test_sessions_that_need_a_new_token_at_once_renew_it_once(
    terminal, handrail, settings, server, workspace
):
    """A server may end a login when the same token is used for two renewals."""
    log_in(terminal, settings)
    approve(handrail, settings)

    async def use():
        async with (
            package.open(workspace, config=settings[1], store=":memory:") as one,
            package.open(workspace, config=settings[1], store=":memory:") as two,
        ):
            for _ in range(2):
                calls = [rt.call("mcp__door__whoami", {}) for rt in (one, two, one, two)]
                assert [each.ok for each in await asyncio.gather(*calls)] == [True] * 4
                server.end_tokens()

    asyncio.run(use())
    assert server.refreshes == 1


@pytest.mark.threat("A43")
def test_a_late_renewal_does_not_replace_a_newer_login(
    terminal, handrail, settings, server, workspace
):
    """It was begun with the token of the older one."""
    log_in(terminal, settings)
    approve(handrail, settings)
    (file,) = token_files()
    newer = file.read_bytes().replace(server.given[-1].encode(), b"newer-token")

    def log_in_meanwhile():
        file.write_bytes(newer)

    async def use():
        async with package.open(workspace, config=settings[1], store=":memory:") as rt:
            assert (await rt.call("mcp__door__whoami", {})).ok
            server.end_tokens()
            server.before_renewal = log_in_meanwhile
            return await rt.call("mcp__door__whoami", {})

    asyncio.run(use())
    assert server.refreshes == 1
    assert file.read_bytes() == newer


@pytest.mark.threat("A43")
@pytest.mark.parametrize(
    "answer",
    [{"access_token": "SECRET-1\r\nX-Other: 1"}, {"access_token": "a", "expires_in": 10**400}],
    ids=["lines", "overflow"],
)
def test_a_renewal_that_cannot_be_used_asks_for_a_login(
    terminal, handrail, settings, server, answer
):
    log_in(terminal, settings)
    approve(handrail, settings)
    server.end_tokens()
    server.token_answer = JSONResponse({"token_type": "Bearer", **answer})
    done = call(handrail, settings)
    assert "handrail mcp login door" in done.json["problem"]["hint"]
    assert "SECRET" not in done.out


@pytest.mark.threat("A43")
def test_a_server_that_quotes_the_token_does_not_bring_it_into_the_record(
    terminal, handrail, settings, server
):
    log_in(terminal, settings)
    approve(handrail, settings)
    server.quotes_token = True
    assert "your token is [token]" in call(handrail, settings).out


@pytest.mark.threat("A43")
@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_a_token_is_found_across_the_pieces_of_an_answer(size):
    text = b"a abcd-abcd-abce abcd-abcd-abcd-abcd-abce, abcd-abcd"

    class Pieces(httpx2.AsyncByteStream):
        async def __aiter__(self):
            for at in range(0, len(text), size):
                yield text[at : at + size]

    class Answers(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request):
            return httpx2.Response(200, stream=Pieces())

    async def get():
        async with httpx2.AsyncClient(transport=BoundedTransport(Answers())) as client:
            headers = {"Authorization": "Bearer abcd-abcd-abce"}
            return (await client.get("http://127.0.0.1/", headers=headers)).content

    assert asyncio.run(get()) == b"a [token] abcd-abcd-[token], abcd-abcd"


def test_the_next_login_asks_for_the_rights_that_a_call_lacked(
    terminal, handrail, settings, server
):
    server.resource_metadata = {"scopes_supported": ["read"]}
    log_in(terminal, settings)
    approve(handrail, settings)
    challenge = 'Bearer error="insufficient_scope", scope="write"'
    server.call_answer = Response(status_code=403, headers={"WWW-Authenticate": challenge})
    assert "handrail mcp login door" in call(handrail, settings).json["problem"]["hint"]
    assert server.scopes == ["read"]
    log_in(terminal, settings)
    assert server.scopes == ["read", "read write"]


@pytest.mark.threat("A43")
@pytest.mark.parametrize("change", ["mode", "link", "hard-link"])
def test_a_token_file_that_others_could_read_is_refused(
    terminal, handrail, settings, server, tmp_path, change
):
    log_in(terminal, settings)
    approve(handrail, settings)
    (file,) = token_files()
    if change == "mode":
        file.chmod(0o640)
    elif change == "link":
        file.rename(tmp_path / "moved")
        file.symlink_to(tmp_path / "moved")
    else:
        os.link(file, tmp_path / "second")
    server.requests.clear()
    done = call(handrail, settings)
    assert (done.code, done.json["problem"]["code"]) == (1, "untrusted")
    assert server.requests == []
    log_in(terminal, settings)
    assert "you are logged in" in call(handrail, settings).out


@pytest.mark.threat("A43")
def test_a_token_is_not_sent_to_another_url_of_the_same_name(
    terminal, handrail, settings, server, tmp_path
):
    log_in(terminal, settings)
    with LoginServer().serve() as other:
        (tmp_path / "config.toml").write_text(
            f'[mcp.servers.door]\nurl = "{other.url}"\noauth = true\n'
        )
        assert handrail("mcp", "test", "door", *settings).code == 1
        assert other.requests == []


def test_a_server_that_is_removed_loses_its_tokens(terminal, handrail, settings):
    log_in(terminal, settings)
    assert handrail("mcp", "remove", "door", *settings).code == 0
    assert not token_files()
