"""d. A hundred lines deep in a large file: the first time, again, and the memory it takes.

The first time needs a runtime that has not seen the file, so each round opens one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import handrail
from bench import peers
from bench.figure import REPEATING, Figure, Scale, Times, figure, interleave

COUNT = 100
LINE_BYTES = 100
CHUNK = 1 << 18
STEP = 1_000


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    path = workspace / "large.txt"
    lines = scale.deep_mb * 1_000_000 // LINE_BYTES
    first = lines // 2
    _write(path, lines)
    arguments = {"path": "large.txt", "offset": first, "limit": COUNT}

    firsts: Times = {"limit": [], "ours": []}
    tool = peers.deepagents_tools(workspace).get("read_file")
    for number in range(scale.rounds + 1):
        firsts["limit"].append(_seconds(lambda: scan(path, first)))
        async with handrail.open(
            workspace, store=folder / f"audit{number}.sqlite", config=REPEATING
        ) as rt:
            (await rt.call("read_file", {"path": "large.txt", "max_bytes": 100})).unwrap()
            start = time.perf_counter()
            result = await rt.call("read_file", arguments)
            firsts["ours"].append(time.perf_counter() - start)
            assert f"line {first:08}" in result.unwrap().text
        if tool:
            arguments_there = {"file_path": "/large.txt", "offset": first - 1, "limit": COUNT}
            taken = _seconds(lambda given=arguments_there: tool(given))  # type: ignore[misc]
            firsts.setdefault(peers.DEEPAGENTS, []).append(taken)
    # The first round warms up.
    firsts = {name: taken[1:] for name, taken in firsts.items()}

    index = sparse_index(path)
    async with handrail.open(workspace, store=folder / "again.sqlite", config=REPEATING) as rt:

        async def ours() -> object:
            return await rt.call("read_file", arguments)

        again = await interleave(
            {"limit": lambda: indexed(path, index, first), "ours": ours},
            rounds=max(50, scale.calls // 20),
        )
    grown_mb = _memory(workspace, arguments)
    what = f"lines {first}+{COUNT} of {scale.deep_mb} MB"
    return [
        figure("d", f"{what}, first / chunked scan", firsts, bar=1.5, goal=1.3),
        figure("d", f"{what}, again / sparse index", again, bar=10, goal=3, unit="µs"),
        Figure("d", f"{what}, memory", 1, grown_mb, grown_mb, 8, 2, "MB", absolute=True),
    ]


def scan(path: Path, first: int) -> list[bytes]:
    """Count newlines chunk by chunk, then take the lines: the bare way."""
    seen = 1
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(CHUNK):
            here = chunk.count(b"\n")
            if seen + here >= first:
                lines = (chunk + file.read(COUNT * LINE_BYTES)).split(b"\n")
                return lines[first - seen : first - seen + COUNT]
            seen += here
    return []


def sparse_index(path: Path) -> list[int]:
    """The offset of every thousandth line."""
    offsets, offset = [], 0
    with open(path, "rb") as file:
        for number, line in enumerate(file):
            if number % STEP == 0:
                offsets.append(offset)
            offset += len(line)
    return offsets


def indexed(path: Path, offsets: list[int], first: int) -> list[bytes]:
    """Take the lines by an existing index, for a file that is known to be unchanged: the
    bare way.
    """
    os.stat(path)
    slot, skip = divmod(first - 1, STEP)
    with open(path, "rb", buffering=0) as file:
        file.seek(offsets[slot])
        lines = file.read((skip + COUNT) * LINE_BYTES).split(b"\n")
    return lines[skip : skip + COUNT]


def _write(path: Path, lines: int) -> None:
    filler = "x" * (LINE_BYTES - 15)
    with path.open("w") as file:
        for number in range(1, lines + 1):
            file.write(f"line {number:08} {filler}\n")


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _memory(workspace: Path, arguments: dict[str, object]) -> float:
    """Return the peak growth in MB, in another process that has read a small part before."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(workspace), json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


_CHILD = """
import asyncio, json, sys
import handrail

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) / 1024

async def main():
    async with handrail.open(sys.argv[1], store=":memory:") as rt:
        small = {"path": "large.txt", "offset": 1, "limit": 100}
        (await rt.call("read_file", small)).unwrap()
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = status("VmRSS")
        (await rt.call("read_file", json.loads(sys.argv[2]))).unwrap()
        print(max(0.0, status("VmHWM") - before))

asyncio.run(main())
"""
