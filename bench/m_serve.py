"""m. A 1 kB read over stdio, beside the same SDK and client with a trivial tool that returns as
much: what our pipeline, record and transport add to a call that a client makes anyway. Then the
growth of a server over HTTP whose clients disconnect without ending their sessions.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from bench.figure import Figure, Scale, figure, interleave

_FIRST, _SESSIONS = 50, 300
_TRIVIAL = """
import anyio, sys
import mcp_types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
TEXT = sys.argv[1]
async def listed(ctx, params):
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return t.ListToolsResult(tools=[t.Tool(name="read", input_schema=schema)])
async def called(ctx, params):
    return t.CallToolResult(content=[t.TextContent(type="text", text=TEXT)])
async def main():
    server = Server("trivial", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
anyio.run(main)
"""


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    text = "".join(f"line {number:03} of a small file\n" for number in range(36))[:1000]
    names = [f"small{number}.txt" for number in range(32)]
    for name in names:
        (workspace / name).write_text(text)
    turn = cycle(names)
    config = folder / "config.toml"
    config.write_text('loop_guard = "off"\n')
    program = str(Path(sys.executable).with_name("handrail"))
    served = ["serve", "--workspace", str(workspace), "--config", str(config)]
    figures = []
    for era, version in (("legacy", "2025-11-25"), ("auto", "2026-07-28")):
        async with (
            _client(sys.executable, ["-c", _TRIVIAL, text], era) as trivial,
            _client(program, served, era) as ours,
        ):

            async def limit(client: Any = trivial) -> object:
                return await client.call_tool("read", {"path": next(turn)})

            async def read(client: Any = ours) -> object:
                result = await client.call_tool("read_file", {"path": next(turn)})
                assert not result.is_error, result
                return result

            await trivial.list_tools()
            await ours.list_tools()
            times = await interleave(
                {"limit": limit, "ours": read}, rounds=max(200, scale.calls // 5)
            )
        what = f"read_file 1 kB over stdio / trivial tool, {version}"
        figures.append(figure("m", what, times, bar=1.3, goal=1.1, unit="µs"))
    return [*figures, *_growth([program, *served])]


def _growth(command: list[str]) -> list[Figure]:
    """Memory and descriptors of the server after the last session, beside those after the first
    fifty.
    """
    with _http_server(command) as (process, url, headers):
        for _ in range(_FIRST):
            _open_and_read(url, headers)
        memory, handles = _size(process.pid)
        for _ in range(_SESSIONS - _FIRST):
            _open_and_read(url, headers)
        memory_after, handles_after = _size(process.pid)
    grown = memory_after - memory
    return [
        Figure("m", f"server memory, growth from {_FIRST} to {_SESSIONS} sessions", memory, grown,
               memory_after / memory, 20, 10, unit="MB", absolute=True),
        Figure("m", f"server handles after {_SESSIONS} sessions / after {_FIRST}", handles,
               handles_after, handles_after / handles, 1.2, 1.1, unit=""),
    ]  # fmt: skip


def _size(pid: int) -> tuple[float, int]:
    """Resident megabytes and open descriptors of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    handles = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, handles


@contextmanager
def _http_server(
    command: list[str],
) -> Iterator[tuple[subprocess.Popen[str], str, dict[str, str]]]:
    words = [*command, "--http", "127.0.0.1:0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address, token, _ = (process.stdout.readline().strip() for _ in range(3))
            secret = Path(token.rpartition(" in ")[2]).read_text().strip()
            accepted = "application/json, text/event-stream"
            yield (
                process,
                address.removeprefix("serving "),
                {"Authorization": f"Bearer {secret}", "Accept": accepted},
            )
        finally:
            process.terminate()
            process.wait(60)


def _open_and_read(url: str, headers: dict[str, str]) -> None:
    import httpx2

    info = {"name": "bench", "version": "0"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    read = {"name": "read_file", "arguments": {"path": "small0.txt"}}
    with httpx2.Client(headers=headers, timeout=60) as client:
        begun = client.post(url, json=_request(1, "initialize", hello))
        client.headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
        result = client.post(url, json=_request(2, "tools/call", read)).text
    assert "line 000" in result, result


def _request(number: int, method: str, params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@asynccontextmanager
async def _client(command: str, words: list[str], era: str) -> AsyncIterator[Any]:
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=command, args=words, env=dict(os.environ))
    async with Client(server, mode=era, read_timeout_seconds=60) as client:
        yield client
