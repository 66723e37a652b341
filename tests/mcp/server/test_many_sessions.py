"""Many sessions on one HTTP server: its size, and what a session keeps while others are served."""

import os
from pathlib import Path

import httpx2
import pytest
from tests.mcp.server.conftest import ERAS
from tests.mcp.server.test_http import JSON, initialize, posted
from tests.support.waiting import wait_until

import handrail
from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.session import ClientSession
from handrail.mcp.server.session_pool import IDLE_RUNTIMES

MB = 1 << 20
MODERN = "2026-07-28"


class OneClient:
    """A client that connects, and stays away between its calls without ending its session."""

    def __init__(self, server, era, name):
        self._server = server
        self._name = name
        self._number = 1
        self._hello = None
        if era == "legacy":
            headers = {**JSON, **server.headers}
            self._hello = httpx2.post(server.url, headers=headers, json=initialize())

    def call(self, tool, **arguments):
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        if self._hello is not None:
            return posted(self._server, self._hello, request)["result"]
        prefix = "io.modelcontextprotocol/"
        info = {"name": "raw", "version": "0"}
        params["_meta"] = {
            f"{prefix}protocolVersion": MODERN,
            f"{prefix}clientInfo": info,
            f"{prefix}clientCapabilities": {},
        }
        routing = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        own = {"Handrail-Session": self._name}
        headers = {**JSON, **self._server.headers, **routing, **own}
        return httpx2.post(self._server.url, headers=headers, json=request, timeout=30).json()[
            "result"
        ]


def serve_others(server, era, count=2 * IDLE_RUNTIMES, tool="read_file", **arguments):
    """Let so many clients make one call each."""
    for number in range(count):
        client = OneClient(server, era, f"other {os.urandom(4).hex()} {number}")
        assert not client.call(tool, **(arguments or {"path": "a.txt"})).get("isError")


def measure_process(pid):
    """The resident bytes and the number of open descriptors of a process, once that number stays the
    same: the runtime of the last client takes the place of an older one, which closes meanwhile.
    """
    seen = []

    def unchanged():
        seen.append(len(os.listdir(f"/proc/{pid}/fd")))
        return len(seen) > 100 and len(set(seen[-100:])) == 1

    wait_until(unchanged)
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), seen[-1]


@pytest.mark.finding("F78")
@pytest.mark.timeout(110)
@pytest.mark.parametrize("era", ERAS)
def test_the_server_does_not_grow_with_the_number_of_sessions(serve_http, era):
    server = serve_http()

    serve_others(server, era, 60)
    before, handles = measure_process(server.process.pid)
    serve_others(server, era, 60)
    after, handles_after = measure_process(server.process.pid)

    assert abs(handles_after - handles) <= 5
    assert handles_after < 10 * IDLE_RUNTIMES
    assert after - before < 8 * MB


@pytest.mark.finding("F78")
@pytest.mark.parametrize("era", ERAS)
def test_a_session_goes_on_where_it_was_after_many_others(serve_http, root, era):
    server = serve_http("--dialect", "claude", "--mode", "accept-edits")
    client = OneClient(server, era, "first")
    path = str(root / "a.txt")
    (root / "b.txt").write_text("other\n")
    client.call("Read", file_path=path)

    serve_others(server, era, tool="Read", file_path=str(root / "b.txt"))
    edited = client.call("Edit", file_path=path, old_string="hello", new_string="bye")
    unread = client.call("Edit", file_path=str(root / "b.txt"), old_string="o", new_string="a")

    assert not edited.get("isError"), edited
    assert (root / "a.txt").read_text() == "bye\n"
    assert unread["_meta"]["handrail/result"]["problem"]["code"] == "stale"


@pytest.mark.needs_bubblewrap
@pytest.mark.finding("F78")
def test_a_job_goes_on_while_its_client_is_idle_and_others_are_served(serve_http):
    server = serve_http("--mode", "sandboxed")
    client = OneClient(server, "legacy", "first")
    client.call("run_command", command="sleep 812", background=True)

    serve_others(server, "legacy")
    jobs = client.call("job_list")

    assert "running" in jobs["content"][0]["text"]


def open_session(root, store):
    """A session without a client, and what opens its runtime."""

    def opens(*, approver, directories, session):
        return handrail.open(root, approver=approver, session=session, store=store, config={})

    async def roots():
        return []

    session = ClientSession(ServerConfig(open=opens), own_ids=True)
    return session, lambda: session.runtime(roots)


async def test_a_suspended_session_has_the_same_id_turns_and_results(root, tmp_path):
    session, runtime = open_session(root, tmp_path / "store.db")
    first = await runtime()
    result = await first.call("read_file", {"path": "a.txt"}, id="k")

    suspended = await session.suspend()
    second = await runtime()
    again = await second.call("read_file", {"path": "a.txt"}, id="k")
    clash = await second.call("read_file", {"path": "b.txt"}, id="k")
    (newest,) = await second.store.calls(session=second.session.id, limit=1)
    await session.aclose()

    assert suspended
    assert second is not first
    assert second.session.id == first.session.id
    assert again.text == result.text
    assert again.meta["replayed"]
    assert clash.problem.code == "duplicate_id"
    assert newest.turn > 1


async def test_a_session_that_would_lose_something_stays_open(root, tmp_path):
    granted, runtime = open_session(root, tmp_path / "store.db")
    (await runtime()).grants.grant("run_command", "npm test:*")
    planning, planned = open_session(root, tmp_path / "store.db")
    (await planned()).planning.enter()
    in_memory, remembered = open_session(root, ":memory:")
    await remembered()

    found = [await one.suspend() for one in (granted, planning, in_memory)]
    for one in (granted, planning, in_memory):
        await one.aclose()

    assert found == [False, False, False]
