"""`handrail mcp login`, against an authorization server on this machine."""

import asyncio
import socket
import threading
import urllib.error
import urllib.parse
from contextlib import nullcontext
from pathlib import Path

import pytest
from starlette.responses import JSONResponse, Response
from tests.mcp.client.login_server import LoginServer
from tests.support.logins import agree, begin, fail, fetch, log_in, token_files, write_settings
from tests.support.waiting import join_threads

import handrail as package
from handrail.assembly.extras.remote_servers import server_specs
from handrail.assembly.extras.server_http import log_in_to_server
from handrail.mcp.client import oauth


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


@pytest.mark.threat("A43")
def test_a_callback_with_another_state_ends_the_login(terminal, settings, server):
    running, page = begin(terminal, settings)
    callback = urllib.parse.urlsplit(agree(page))
    code = urllib.parse.parse_qs(callback.query)["code"][0]
    status, _ = fetch(callback._replace(query=f"code={code}&state=another").geturl())
    assert status == 400
    assert "does not belong" in fail(running)
    assert "/token" not in server.requests


@pytest.mark.threat("A43")
def test_a_callback_counts_once(terminal, settings):
    callback = log_in(terminal, settings)
    (before,) = [one.read_bytes() for one in token_files()]
    with pytest.raises(urllib.error.URLError):
        fetch(callback)
    assert [one.read_bytes() for one in token_files()] == [before]


@pytest.mark.threat("A43")
def test_the_first_callback_is_the_only_one(terminal, settings, server):
    """A right answer after a wrong one is too late."""
    running, page = begin(terminal, settings)
    right = agree(page)
    status, _ = fetch(right.partition("?")[0])
    assert status == 400
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        fetch(right)
    fail(running)
    assert "/token" not in server.requests


@pytest.mark.threat("A43")
def test_other_requests_to_the_port_change_nothing(terminal, settings):
    running, page = begin(terminal, settings)
    callback = urllib.parse.urlsplit(agree(page))
    assert callback.hostname == "127.0.0.1"
    assert fetch(callback._replace(path="/favicon.ico", query="").geturl())[0] == 404
    # A page of another site whose name leads to this machine.
    assert fetch(callback.geturl(), Host="attacker.example")[0] == 404
    # A picture of a page of another site.
    wrong = callback._replace(query="code=a&state=b").geturl()
    assert fetch(wrong, **{"Sec-Fetch-Dest": "image"})[0] == 404
    # More than the head of a request may have.
    with socket.create_connection((callback.hostname, callback.port), timeout=30) as other:
        other.sendall(b"GET /" + b"a" * 20_000)
        assert other.recv(100) == b""
    assert fetch(callback.geturl())[0] == 200
    assert running.end() == 0
    assert b"rror" not in running.screen


@pytest.mark.threat("A43")
def test_a_callback_that_names_a_value_twice_is_refused(terminal, settings):
    running, page = begin(terminal, settings)
    assert fetch(f"{agree(page)}&code=another")[0] == 400
    assert "twice" in fail(running)


@pytest.mark.threat("A43")
def test_a_callback_with_too_many_values_ends_the_login(terminal, settings, server):
    running, page = begin(terminal, settings)
    assert fetch(agree(page) + "&a=" * 60)[0] == 400
    assert "too many values" in fail(running)
    assert "/token" not in server.requests


def test_a_page_with_a_query_of_its_own_is_used(terminal, settings, server):
    server.metadata = {"authorization_endpoint": f"{server.origin}/authorize?tenant=a"}
    running, page = begin(terminal, settings)
    assert "/authorize?tenant=a&response_type=code&" in page
    assert fetch(agree(page))[0] == 200
    assert running.end() == 0


@pytest.mark.threat("A43")
@pytest.mark.parametrize("status", [302, 200], ids=["redirect", "invalid"])
def test_an_authorization_server_without_metadata_is_not_replaced(
    terminal, settings, server, status
):
    """By the paths that are usual on the server itself."""
    elsewhere = {"location": "http://169.254.169.254/latest"}
    server.metadata_answer = Response(b"{}", status_code=status, headers=elsewhere)
    shown = fail(terminal(["mcp", "login", "door", *settings]))
    assert "publishes no metadata" in shown
    assert "/authorize?" not in shown


@pytest.mark.threat("A43")
def test_a_page_that_no_terminal_shows_whole_is_refused(terminal, settings, server):
    server.resource_metadata = {"scopes_supported": [f"scope-{number}" for number in range(2000)]}
    shown = fail(terminal(["mcp", "login", "door", *settings]))
    assert "cannot be used" in shown
    assert "scope-1" not in shown


@pytest.mark.threat("A43")
@pytest.mark.parametrize(
    ("published", "answer"),
    [
        ({}, {"iss": "https://attacker.example"}),
        ({"authorization_response_iss_parameter_supported": True}, {}),
    ],
    ids=["another", "missing"],
)
def test_the_issuer_of_the_answer_is_checked(terminal, settings, server, published, answer):
    server.metadata, server.answer = published, answer
    running, page = begin(terminal, settings)
    fetch(agree(page))
    assert " iss " in fail(running)
    assert "/token" not in server.requests


def test_the_right_issuer_is_accepted(terminal, settings, server):
    server.metadata = {"authorization_response_iss_parameter_supported": True}
    server.answer = {"iss": server.origin}
    log_in(terminal, settings)


def test_a_user_who_refuses_is_not_logged_in(terminal, settings, server):
    server.answer = {"error": "access_denied"}
    running, page = begin(terminal, settings)
    fetch(agree(page))
    assert "access_denied" in fail(running)


@pytest.mark.threat("A42")
@pytest.mark.parametrize(
    ("published", "code", "reason"),
    [
        ({"metadata": {"issuer": "https://attacker.example"}}, 1, "issuer mismatch"),
        ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, 1, "PKCE"),
        ({"metadata": {"authorization_endpoint": "http://169.254.169.254/a"}}, 5, "private"),
        ({"metadata": {"authorization_endpoint": "http://attacker.example/a"}}, 5, "https"),
        ({"metadata": {"registration_endpoint": "http://169.254.169.254/r"}}, 5, "private"),
        ({"resource_metadata": {"resource": "https://attacker.example/mcp"}}, 1, "does not match"),
        ({"resource_metadata": {"authorization_servers": ["http://127.0.0.1:1/"]}}, 5, "port 1"),
        ({"resource_metadata": {"authorization_servers": ["https://localhost/"]}}, 5, "private"),
    ],
    ids=[
        "issuer",
        "no-pkce",
        "page-inside",
        "page-without-tls",
        "registration-inside",
        "other-resource",
        "server-inside",
        "server-of-this-machine",
    ],
)
def test_what_a_server_publishes_leads_nowhere_else(
    terminal, settings, server, published, code, reason
):
    for name, value in published.items():
        setattr(server, name, value)
    running = terminal(["mcp", "login", "door", *settings])
    shown = fail(running, code)
    assert reason in shown
    assert "/authorize?" not in shown
    assert "/authorize" not in server.requests


@pytest.mark.threat("A42")
def test_a_code_is_not_sent_inside(terminal, settings, server):
    with LoginServer().serve() as other:
        server.metadata = {"token_endpoint": f"{other.origin}/token"}
        running, page = begin(terminal, settings)
        fetch(agree(page))
        assert "cannot be requested" in fail(running, 5)
        assert other.requests == []


@pytest.fixture
def log_in_here(settings, workspace):
    """Log in in this process; `browse` gets the URL of the page."""

    async def run(browse):
        loaded = package.open(workspace, config=settings[1], store=":memory:").loaded.settings
        spec = server_specs(loaded, workspace)["door"]
        await log_in_to_server(spec, loaded.web, lambda host, page: browse(page))

    return lambda browse: asyncio.run(run(browse))


@pytest.mark.threat("A43")
def test_a_login_ends_with_its_time(log_in_here, monkeypatch):
    assert oauth.LOGIN_S == 300
    monkeypatch.setattr(oauth, "LOGIN_S", 1.0)
    pages = []
    with pytest.raises(package.ProblemRaised) as raised:
        log_in_here(pages.append)
    assert raised.value.problem.code == "timeout"
    with pytest.raises(urllib.error.URLError):
        fetch(agree(pages[0]))
    assert not token_files()


@pytest.mark.threat("A43")
@pytest.mark.parametrize("valid", [True, False], ids=["valid", "invalid"])
def test_no_secret_is_logged(log_in_here, server, caplog, valid):
    caplog.set_level("DEBUG")
    if not valid:
        server.given.append("SECRET-1")
        server.token_answer = JSONResponse({"access_token": "SECRET-1", "expires_in": "soon"})
    browsers = []

    def browse(page):
        browsers.append(threading.Thread(target=lambda: fetch(agree(page))))
        browsers[0].start()

    with nullcontext() if valid else pytest.raises(package.ProblemRaised):
        log_in_here(browse)
    join_threads(*browsers)
    assert "/token" in caplog.text
    assert not [one for one in server.given if one in caplog.text]


@pytest.mark.threat("A43")
@pytest.mark.parametrize(
    "answer",
    [
        {"access_token": "SECRET-1", "expires_in": "SECRET-2"},
        {"access_token": "SECRET-1\r\nX-Other: 1"},
        {"access_token": "SECRET-1", "expires_in": 10**400},
        {"access_token": "SECRET-1" * 4000},
    ],
    ids=["words", "lines", "overflow", "long"],
)
def test_an_invalid_token_answer_is_not_shown(terminal, settings, server, answer):
    server.token_answer = JSONResponse({"token_type": "Bearer", **answer})
    running, page = begin(terminal, settings)
    fetch(agree(page))
    shown = fail(running)
    assert "gave no token" in shown
    assert "SECRET" not in shown


@pytest.mark.threat("A43")
def test_without_a_terminal_there_is_no_login(handrail, settings, server):
    done = handrail("mcp", "login", "door", *settings, "--json")
    assert (done.code, done.json["problem"]["code"]) == (3, "needs_approval")
    assert server.requests == []


def test_a_server_without_oauth_has_no_login(handrail, settings, tmp_path):
    file = Path(settings[1])
    file.write_text(file.read_text().replace("oauth = true", ""))
    assert (
        handrail("mcp", "login", "door", *settings, "--json").json["problem"]["code"]
        == "invalid_arguments"
    )


@pytest.mark.parametrize(
    "line",
    ['command = "x"', 'url = "http://example.org/mcp"', 'url = "https://a/"\nbearer_env = "A"'],
    ids=["program", "without-tls", "bearer"],
)
def test_oauth_needs_a_safe_url_alone(handrail, tmp_path, line):
    file = tmp_path / "other.toml"
    file.write_text(f"[mcp.servers.door]\noauth = true\n{line}\n")
    assert handrail("config", "check", str(file)).code == 2


def test_a_server_is_added_with_oauth(handrail, tmp_path):
    file = tmp_path / "added.toml"
    done = handrail(
        "mcp", "add", "door", "https://example.org/mcp", "--oauth", "--config", str(file)
    )
    assert "handrail mcp login door" in done.out
    assert "oauth = true" in file.read_text()
