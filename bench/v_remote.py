"""v. A call of a tool of an MCP server over stdio, beside the SDK's own call of the same server and one
durable row of the same kind of record. CPU time of this process: the server's own is the same for both.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import handrail
from bench.add_server import SCHEMA
from bench.figure import REPEATING, Figure, Scale, Times, figure

_SERVER = Path(__file__).with_name("add_server.py")
_BLOCK = 20


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    from mcp import Client, StdioServerParameters

    from handrail.core.ports.records import Row
    from handrail.store.sqlite.store import open_store

    root = folder / "workspace"
    root.mkdir()
    command = StdioServerParameters(command=sys.executable, args=["-I", str(_SERVER)])
    numbers = count()
    store = open_store(folder / "beside.sqlite")
    await store.open_session("bench", {})
    async with (
        Client(command, mode="legacy") as client,
        handrail.open(root, store=folder / "a.sqlite", config=_config(root)) as rt,
        handrail.open(
            root, store=folder / "b.sqlite", config=_config(root, trust_annotations=True)
        ) as trusting,
    ):

        async def sdk() -> None:
            assert not (await client.call_tool("add", {"a": next(numbers), "b": 1})).is_error

        async def sdk_and_intent() -> None:
            await sdk()
            number = next(numbers)
            arguments = {"runs": "mcp__demo__add", "arguments": {"a": number, "b": 1}}
            await store.commit(Row("bench", "intent", str(number), 1, number, arguments), "power")

        async def asking() -> None:
            assert (await rt.call("mcp__demo__add", {"a": next(numbers), "b": 1})).ok

        async def trusted() -> None:
            assert (await trusting.call("mcp__demo__add", {"a": next(numbers), "b": 1})).ok

        rounds = max(20, scale.rounds)
        whole = await _interleave({"limit": sdk_and_intent, "ours": asking}, rounds)
        reads = await _interleave({"limit": sdk, "ours": trusted}, rounds)
    await store.aclose()
    return [
        figure("v", "MCP call, CPU / SDK's call and one durable row", whole, bar=1.2, goal=1.2),
        figure("v", "MCP call trusted to read, CPU / SDK's call", reads, bar=1.5, goal=1.5),
    ]


async def _interleave(candidates: dict[str, Callable[[], Awaitable[None]]], rounds: int) -> Times:
    """CPU seconds per call of each candidate, in turns."""
    times: Times = {name: [] for name in candidates}
    for turn in range(rounds + 1):
        names = list(candidates)[:: 1 if turn % 2 else -1]
        for name in names:
            began = time.process_time()
            for _ in range(_BLOCK):
                await candidates[name]()
            if turn:
                times[name].append((time.process_time() - began) / _BLOCK)
    return times


def _config(root: Path, **more: Any) -> dict[str, Any]:
    """Settings with the server, whose tools are approved."""
    from handrail.assembly.extras.remote_servers import server_specs
    from handrail.assembly.extras.server_records import server_records
    from handrail.mcp.client.manifest import ServerManifest, ToolRecord
    from handrail.mcp.client.server_spec import ServerPlaces

    table = {"command": sys.executable, "args": ["-I", str(_SERVER)], "protocol": "legacy", **more}
    config = {**REPEATING, "mode": "bypass", "mcp": {"servers": {"demo": table}}}
    loaded: Any = handrail.open(root, config=config, store=":memory:").loaded
    (spec,) = server_specs(loaded.settings, root).values()
    fingerprint = spec.fingerprint(sys.executable, ServerPlaces([str(root)]))
    record = ToolRecord("add", "Adds.", SCHEMA, True)
    server_records().save(spec.pin_name, ServerManifest(fingerprint, (record,)))
    return config
