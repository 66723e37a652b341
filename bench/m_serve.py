"""m. A 1 kB read over stdio, beside the same SDK and client with a trivial tool that returns as
much: what our pipeline, record and transport add to a call that a client makes anyway.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

from bench.figure import Figure, Scale, figure, interleave

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

            async def limit(client=trivial) -> object:
                return await client.call_tool("read", {"path": next(turn)})

            async def read(client=ours) -> object:
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
    return figures


@asynccontextmanager
async def _client(command: str, words: list[str], era: str) -> AsyncIterator:
    import os

    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=command, args=words, env=dict(os.environ))
    async with Client(server, mode=era, read_timeout_seconds=60) as client:
        yield client
