"""A workspace, servers on it, and clients: in this process, over stdio and over HTTP."""

import os
import sys
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.memory import create_client_server_memory_streams
from tests.support.machine import load_node_tools
from tests.support.preloaded import PreloadedProcess

import handrail
from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.session import ClientSession
from handrail.mcp.server.tool_server import ToolServer

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = str(Path(sys.executable).with_name("handrail"))
ERAS = ("legacy", "auto")


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "work"
    place.mkdir()
    (place / "a.txt").write_text("hello\n")
    return place


@pytest.fixture
def connect(root):
    """A client and a server in this process, a runtime in memory behind them."""

    @asynccontextmanager
    async def connected(mode="auto", *, offer=None, client=None, **settings):
        def opens(*, approver, directories, session):
            given = {"store": ":memory:", "config": {}, **settings}
            return handrail.open(
                root, approver=approver, directories=directories or None, session=session, **given
            )

        session = ClientSession(ServerConfig(open=opens, **(offer or {})), own_ids=True)
        server = ToolServer(lambda ctx: session)
        try:
            async with Client(
                _over_streams(server.sdk), mode=mode, read_timeout_seconds=30, **(client or {})
            ) as connection:
                yield connection
        finally:
            await session.aclose()

    return connected


@asynccontextmanager
async def _over_streams(sdk):
    """Messages as they would go over a wire; handing over the server itself takes short cuts."""
    async with (
        create_client_server_memory_streams() as (ours, theirs),
        anyio.create_task_group() as group,
    ):
        group.start_soon(sdk.run, *theirs, sdk.create_initialization_options())
        yield ours
        group.cancel_scope.cancel()


def stdio_parameters(root, *words):
    return StdioServerParameters(
        command=SCRIPT, args=["serve", "-w", str(root), *words], env=dict(os.environ)
    )


@dataclass
class HttpServer:
    """A running server; `headers` let a request through, with `approving` its answers too."""

    url: str
    headers: dict[str, str]
    approving: dict[str, str]
    process: PreloadedProcess

    @asynccontextmanager
    async def client(self, mode="auto", *, approving=True, more=None, **given):
        headers = {**self.headers, **(self.approving if approving else {}), **(more or {})}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=30, **given) as client:
                yield client


@pytest.fixture
def serve_http(root, preloaded):
    """Start `handrail serve --http` on a free port of this machine."""
    with _servers(preloaded) as start:
        yield lambda *words: start(["serve", "-w", root, "--http", "127.0.0.1:0", *words])


@contextmanager
def _servers(preloaded):
    running = []

    def start(words):
        ours, theirs = os.pipe()
        output = os.fdopen(ours)
        try:
            process = preloaded.start(words, [0, theirs, 2])
        finally:
            os.close(theirs)
        running.append((process, output))
        lines = []
        while not (lines and lines[-1].startswith("token for approvals")):
            line = output.readline()
            assert line, f"the server ended with {process.wait(10)}"
            lines.append(line.strip())
        url = lines[0].removeprefix("serving ")
        calls, approvals = (
            Path(line.rpartition(" in ")[2]).read_text().strip() for line in lines[-2:]
        )
        return HttpServer(
            url, {"Authorization": f"Bearer {calls}"}, {"Handrail-Approval": approvals}, process
        )

    try:
        yield start
    finally:
        for process, output in running:
            process.terminate()
            process.wait(20)
            process.close()
            output.close()


@pytest.fixture(scope="session")
def node_tools():
    """Node and where the public MCP programs are; tests carry `needs_mcp_programs`."""
    tools = load_node_tools()
    return str(tools.node()), tools.PLACE / "node_modules"
