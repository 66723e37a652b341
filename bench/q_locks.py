"""q. Eight processes that want one file at once: how long they wait for its lock at worst (p99)
beside the median, and how long whole calls take that write it, which share a store too.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import handrail
from bench.figure import REPEATING, Figure, Scale
from handrail.host.state.file_locks import FileLocks

PROCESSES = 8
TIMES = {"lock": 200, "call": 40}
WHAT = {
    "lock": f"{PROCESSES} processes lock one file, wait, p99 / median",
    "call": f"{PROCESSES} processes write one file, call, p99 / median",
}


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("value 0\n")
    figures = []
    for kind, what in WHAT.items():
        _run(folder, kind, 2)
        taken = _run(folder, kind, TIMES[kind])
        median, worst = statistics.median(taken), statistics.quantiles(taken, n=100)[98]
        figures.append(Figure("q", what, median * 1e3, worst * 1e3, worst / median, 10, 4))
    return figures


def _run(folder: Path, kind: str, times: int) -> list[float]:
    """The seconds of everything that all processes did; they start together."""
    command = [sys.executable, "-m", "bench.q_locks", str(folder), kind, str(times)]
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


async def _lock(folder: Path, times: int) -> None:
    """Lock the file, sync a few bytes as a call does, release."""
    locks = FileLocks(folder)
    handle = os.open(folder / "synced", os.O_WRONLY | os.O_CREAT)
    taken = []
    await _wait_for_start()
    for number in range(times):
        start = time.perf_counter()
        held = await locks.acquire(["file:/a"])
        taken.append(time.perf_counter() - start)
        os.pwrite(handle, b"%d" % number, 0)
        os.fsync(handle)
        held.release()
    print(json.dumps(taken), flush=True)


async def _call(folder: Path, times: int) -> None:
    settings = {**REPEATING, "mode": "accept-edits", "freshness": "off"}
    store = folder / "audit.sqlite"
    async with handrail.open(folder / "workspace", store=store, config=settings) as rt:
        taken = []
        # The first call loads what writing needs, which measure h covers.
        (await rt.call("write_file", {"path": f"{os.getpid()}.txt", "content": ""})).unwrap()
        await _wait_for_start()
        for number in range(times):
            arguments = {"path": "a.txt", "content": f"value {number}\n"}
            start = time.perf_counter()
            (await rt.call("write_file", arguments)).unwrap()
            taken.append(time.perf_counter() - start)
        print(json.dumps(taken), flush=True)


async def _wait_for_start() -> None:
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    work = {"lock": _lock, "call": _call}[sys.argv[2]]
    asyncio.run(work(Path(sys.argv[1]), int(sys.argv[3])))
