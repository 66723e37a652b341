"""i. Thirty tools declared for a provider, as every turn of an agent does, beside joined bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import handrail
from bench import peers
from bench.figure import Candidate, Figure, Scale, figure, interleave

COUNT = 30
BLOCK = 20


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    async with handrail.open(workspace, store=":memory:") as rt:
        for number in range(COUNT - len(rt.declare("openai"))):
            rt.register(handrail.tool(name=f"work_{number}")(work))
        declared = rt.declare("openai")
        assert len(declared) == COUNT, f"{len(declared)} tools instead of {COUNT}"
        cached = [json.dumps(each).encode() for each in declared]

        def limit() -> bytes:
            return b"[" + b",".join(cached) + b"]"

        def ours() -> object:
            return rt.declare("openai")

        candidates: dict[str, Candidate] = {"limit": limit, "ours": ours}
        if theirs := peers.deepagents_schemas(workspace, COUNT):
            candidates[peers.DEEPAGENTS] = theirs
        if definitions := await peers.pydantic_ai_schemas(COUNT):

            async def other() -> object:
                return await definitions()

            candidates[peers.PYDANTIC_AI] = other
        times = await interleave(candidates, rounds=scale.calls // BLOCK, block=BLOCK)
    return [figure("i", f"{COUNT} schemas / joined bytes", times, bar=10, goal=5, unit="µs")]


def work(path: handrail.ReadPath, offset: Annotated[int, "first line"] = 1) -> str:
    """Read a part of a file."""
    return f"{path}{offset}"
