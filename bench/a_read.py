"""a. A small file read through the whole pipeline, audit included, beside `open().read()`.

One call each in turn: a model's calls do not come in hot loops, so nobody gets to keep the
processor's caches to himself.
"""

from __future__ import annotations

from pathlib import Path

import handrail
from bench import peers
from bench.figure import Candidate, Figure, Scale, figure, interleave

BLOCK = 1


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    path = workspace / "small.txt"
    path.write_text("".join(f"line {number:03} of a small file\n" for number in range(36))[:1000])
    name = str(path)

    def limit() -> str:
        with open(name) as file:
            return file.read()

    async with handrail.open(workspace, store=folder / "audit.sqlite") as rt:

        async def ours() -> object:
            return await rt.call("read_file", {"path": "small.txt"})

        (await rt.call("read_file", {"path": "small.txt"})).unwrap()
        candidates: dict[str, Candidate] = {"limit": limit, "ours": ours}
        if read := peers.deepagents_tools(workspace).get("read_file"):
            candidates[peers.DEEPAGENTS] = lambda: read({"file_path": "/small.txt"})
        if call := await peers.pydantic_ai_read():

            async def other() -> object:
                return await call(name)

            candidates[peers.PYDANTIC_AI] = other
        times = await interleave(
            candidates, rounds=scale.calls // BLOCK, block=BLOCK, settle=rt.store.flush
        )
    return [figure("a", "read_file 1 kB / open().read()", times, bar=6, goal=3, unit="µs")]
