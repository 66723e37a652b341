"""Clients that come, work and go, over both transports and eras: nothing of them stays."""

import os

import anyio
import pytest
from mcp import Client
from tests.mcp.server.conftest import ERAS, stdio_parameters
from tests.mcp.server.traces import NOTHING, Traces, all_ended, pids_of

pytestmark = [pytest.mark.needs_bubblewrap, pytest.mark.timeout(600)]

ROUNDS = [pytest.param(8), pytest.param(100, marks=pytest.mark.torture)]


@pytest.fixture
def traces(root, own_home, tmp_path, monkeypatch):
    temp = tmp_path / "for temporary files"
    temp.mkdir()
    monkeypatch.setenv("TMPDIR", str(temp))
    return Traces(root, own_home / "state", temp)


async def work(client, traces):
    """Read, write, reserve a path and leave a job running; what is seen of it meanwhile."""
    results = [
        await client.call_tool("read_file", {"path": "a.txt"}),
        await client.call_tool("write_file", {"path": "a.txt", "content": "x\n"}),
        await client.call_tool("lock_paths", {"globs": ["a.txt"]}),
        await client.call_tool(
            "run_command", {"command": f"sleep 617 # {traces.temp}", "background": True}
        ),
    ]
    assert [result.is_error for result in results] == [False] * 4, results
    return await anyio.to_thread.run_sync(traces.all)


@pytest.mark.parametrize("rounds", ROUNDS)
async def test_clients_that_come_and_go_over_stdio_leave_nothing(root, traces, rounds):
    parameters = stdio_parameters(root, "--mode", "sandboxed")

    for number in range(rounds):
        era = ERAS[number % len(ERAS)]
        async with Client(parameters, mode=era, read_timeout_seconds=60) as client:
            meanwhile = await work(client, traces)
            started = pids_of(str(traces.temp))
        assert all(meanwhile.values()), meanwhile
        assert await anyio.to_thread.run_sync(all_ended, started)
        assert traces.all() == NOTHING, f"after round {number}"

    assert [path.name for path in root.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("rounds", ROUNDS)
async def test_clients_that_come_and_go_over_http_leave_nothing(serve_http, root, traces, rounds):
    server = serve_http("--mode", "sandboxed")
    alone = pids_of(str(traces.temp))

    for number in range(rounds):
        async with server.client("legacy") as client:
            meanwhile = await work(client, traces)
            started = set(pids_of(str(traces.temp))) - set(alone)
        assert all(meanwhile.values()), meanwhile
        assert await anyio.to_thread.run_sync(all_ended, started)
        left = traces.all()
        assert {**left, "processes": []} == NOTHING, f"after round {number}"
        assert len(left["processes"]) == len(alone)

    # Without sessions nobody says goodbye: what such clients leave ends with the server.
    async with server.client(ERAS[1]) as client:
        await work(client, traces)
    started = pids_of(str(traces.temp))
    server.process.terminate()
    assert await anyio.to_thread.run_sync(all_ended, started)
    assert server.process.wait(30) == 0
    assert traces.all() == NOTHING
    assert [path.name for path in root.iterdir()] == ["a.txt"]
    assert os.getpid() not in started
