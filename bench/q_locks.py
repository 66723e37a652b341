"""q. Eight processes that edit one file at once: how long a call waits at worst (p99), beside how
long calls wait at the median.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import handrail
from bench.figure import REPEATING, Figure, Scale

PROCESSES = 8
EDITS = 40


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("value 0\n")
    taken: list[float] = []
    # The first edits set up the store and warm the caches.
    for times in (await _run(folder, 2), await _run(folder, EDITS)):
        taken = times
    median, worst = statistics.median(taken), statistics.quantiles(taken, n=100)[98]
    what = f"{PROCESSES} processes write one file, p99 / median"
    return [Figure("q", what, median * 1e3, worst * 1e3, worst / median, 10, 4)]


async def _run(folder: Path, edits: int) -> list[float]:
    """The seconds of all calls of all processes, which start together."""
    command = [sys.executable, "-m", "bench.q_locks", str(folder), str(edits)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    for one in started:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    outputs = [one.communicate()[0] for one in started]
    return [seconds for output in outputs for seconds in json.loads(output)]


async def _edit(folder: Path, edits: int) -> None:
    settings = {**REPEATING, "mode": "accept-edits", "freshness": "off"}
    store = folder / "audit.sqlite"
    async with handrail.open(folder / "workspace", store=store, config=settings) as rt:
        print("ready", flush=True)
        sys.stdin.readline()
        taken = []
        for number in range(edits):
            arguments = {"path": "a.txt", "content": f"value {number}\n"}
            start = time.perf_counter()
            (await rt.call("write_file", arguments)).unwrap()
            taken.append(time.perf_counter() - start)
        print(json.dumps(taken), flush=True)


if __name__ == "__main__":
    asyncio.run(_edit(Path(sys.argv[1]), int(sys.argv[2])))
