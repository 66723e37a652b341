"""g. Sixteen reads and sixteen searches in one batch, beside the searches by two bare `rg -j1`."""

from __future__ import annotations

import asyncio
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import handrail
from bench import peers
from bench.b_grep import RG
from bench.figure import REPEATING, Candidate, Figure, Scale, figure, interleave
from bench.tree import grow

EACH = 16
CORES = 2


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    grow(workspace, scale.files // 5)
    texts = sorted(path.relative_to(workspace) for path in workspace.rglob("*.py"))[:EACH]
    words = [f"quartz_lantern_{number}" for number in range(EACH)]
    pool = ThreadPoolExecutor(CORES)

    def search(word: str) -> int:
        return subprocess.run(
            [RG, "-j1", "-lF", "-e", word, "."], cwd=workspace, capture_output=True, check=False
        ).returncode

    def limit() -> list[int]:
        return list(pool.map(search, words))

    calls = [
        *({"name": "read_file", "arguments": {"path": str(path)}} for path in texts),
        *({"name": "grep", "arguments": {"pattern": word, "literal": True}} for word in words),
    ]
    async with handrail.open(workspace, store=folder / "audit.sqlite", config=REPEATING) as rt:

        async def ours() -> object:
            results = await rt.batch(calls)
            assert all(result.ok for result in results)
            return results

        candidates: dict[str, Candidate] = {"limit": limit, "ours": ours}
        tools = peers.deepagents_tools(workspace)
        if tools:

            async def other() -> object:
                jobs = [
                    *((tools["read_file"], {"file_path": f"/{path}"}) for path in texts),
                    *((tools["grep"], {"pattern": word, "path": "/"}) for word in words),
                ]
                return await asyncio.gather(*(asyncio.to_thread(run, given) for run, given in jobs))

            candidates[peers.DEEPAGENTS] = other
        times = await interleave(candidates, rounds=scale.rounds)
    pool.shutdown()
    what = f"{EACH} reads + {EACH} greps at once / {EACH} rg -j1 on {CORES} cores"
    return [figure("g", what, times, bar=1.3, goal=1.15)]
