"""r. A turn whose calls run while the response is streamed, beside its longer half alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import handrail
from bench.figure import REPEATING, Figure, Scale, figure, interleave
from bench.tree import grow
from handrail.models.scripted.streams import (
    ScriptedCall,
    ScriptedMessage,
    StreamShape,
    render_stream,
)
from handrail.models.sse import SseReader

EACH = 8
WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")
# How fast models write: about 100 deltas a second.
PACE_S = 0.01


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    grow(workspace, scale.files // 5)
    texts = sorted(path.relative_to(workspace) for path in workspace.rglob("*.py"))[:EACH]
    calls = [
        *({"name": "read_file", "arguments": {"path": str(path)}} for path in texts),
        *(
            {"name": "grep", "arguments": {"pattern": f"quartz_lantern_{n}", "literal": True}}
            for n in range(EACH)
        ),
    ]
    found = []
    async with handrail.open(workspace, store=folder / "audit.sqlite", config=REPEATING) as rt:
        for wire in WIRES:
            found.append(await _measure_wire(rt, wire, calls, scale))
    return found


async def _measure_wire(
    rt: handrail.Runtime, wire: str, calls: list[dict[str, Any]], scale: Scale
) -> Figure:
    scripted = tuple(ScriptedCall(one["name"], one["arguments"]) for one in calls)
    message = ScriptedMessage("I look at several files. " * 8, scripted)
    responses = iter(range(1_000_000))

    def events() -> list[dict[str, Any]]:
        shape = StreamShape(f"r{wire}{next(responses)}", {"input": 1, "output": 1}, chunk=12)
        data = b"".join(render_stream(message, wire, shape))
        return [json.loads(one.data) for one in SseReader().feed(data) if one.data != "[DONE]"]

    async def stream() -> None:
        async for _ in _paced(events()):
            pass

    async def tools() -> None:
        assert all(result.ok for result in await rt.batch(calls))

    async def ours() -> None:
        async with rt.stream(_paced(events())) as turn:
            await turn
        assert all(result.ok for result in turn.results)

    times = await interleave({"stream": stream, "tools": tools, "ours": ours}, rounds=scale.rounds)
    halves = zip(times.pop("stream"), times.pop("tools"), strict=True)
    times["limit"] = [max(pair) for pair in halves]
    what = f"turn with {len(calls)} calls / max(stream, tools), {wire}"
    # Gemini sends calls whole and in a row: most of them come when the stream is all but over.
    bar, goal = (None, None) if wire == "gemini" else (1.10, 1.05)
    return figure("r", what, times, bar=bar, goal=goal)


async def _paced(events: list[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    for event in events:
        await asyncio.sleep(PACE_S)
        yield event
