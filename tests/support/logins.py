"""A user who logs in to the MCP server `door`, at a terminal and in a browser."""

import re
import urllib.error
import urllib.request

from handrail.assembly.extras.server_records import server_records
from handrail.host.state.directories import state_home
from handrail.mcp.client.manifest import ServerManifest

PAGE = re.compile(rb"\r\n(http://\S+/authorize\?\S+)\r\n")
LIMIT_S = 30


def write_settings(file, server):
    """Write settings with the server, and return the options that name them."""
    file.write_text(f'mode = "bypass"\n[mcp.servers.door]\nurl = "{server.url}"\noauth = true\n')
    return ["--config", str(file)]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **kwargs):
        return None


def fetch(url, **headers):
    """Status and body of a page; redirects are not followed."""
    opener = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=LIMIT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("location") or error.read().decode()


def begin(terminal, settings):
    """Start a login, and return it with the URL that it shows."""
    running = terminal(["mcp", "login", "door", *settings])
    running.wait_until(PAGE.search)
    running.wait_for("Ctrl+C")
    return running, PAGE.search(running.screen)[1].decode()


def agree(page):
    """Agree in the browser, and return the URL that it is sent to."""
    status, callback = fetch(page)
    assert status == 302
    return callback


def log_in(terminal, settings):
    running, page = begin(terminal, settings)
    callback = agree(page)
    status, text = fetch(callback)
    assert (status, "close this page" in text) == (200, True)
    assert running.end() == 0, running.screen.decode()
    assert b"logged in" in running.screen
    return callback


def approve(handrail, settings):
    """Approve the tools of the server, as `handrail mcp approve` does after its question."""
    found = handrail("mcp", "test", "door", *settings, "--json").json
    server_records().save("door", ServerManifest.from_dict(found))


def fail(running, code=1):
    """Wait until a login has failed, and return what it printed, in one line."""
    assert running.end() == code
    assert not token_files()
    return " ".join(running.screen.decode().split())


def token_files():
    return [*state_home().rglob("*.tokens")]


def call(handrail, settings):
    return handrail("call", "mcp__door__whoami", *settings, "--json")
