"""The tokens of a login to an MCP server: where they are kept, how they are used and renewed."""

import asyncio
import json
import os

import pytest
from starlette.responses import RedirectResponse, Response
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
from handrail.host.state.directories import state_home


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
