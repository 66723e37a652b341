"""e. One word changed in a large file, durably, beside a bare atomic write with fsync.

Once with old contents kept before the change (the journal), once without. Of a small file, the
CPU time of one edit after the other.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import handrail
from bench import peers
from bench.figure import Candidate, Figure, Scale, Times, figure, interleave


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    sizes = {1: max(20, scale.rounds * 5), scale.big_edit_mb: scale.rounds}
    rows = [each for size, rounds in sizes.items() for each in await _one(folder, size, rounds)]
    return [*rows, await _small(folder, max(80, scale.calls // 20))]


async def _small(folder: Path, rounds: int) -> Figure:
    """Process CPU time, the store's thread included; the median of edits made in turns. Many
    rounds, because the time of the bare write, mostly spent in the kernel, varies.
    """
    workspace = folder / "small"
    workspace.mkdir()
    for name in ("limit.txt", "on.txt"):
        (workspace / name).write_text("an ordinary line\n" * 30 + "here is marker_one\n")
    words = _turns()
    times: Times = {"limit": [], "ours": []}
    config = {"mode": "accept-edits", "loop_guard": "off"}
    async with handrail.open(workspace, store=folder / "small.sqlite", config=config) as rt:
        edit = _ours(rt, "on.txt")
        await edit()
        for _ in range(rounds):
            await asyncio.sleep(0.025)
            start = time.process_time()
            old, new = next(words)
            replace(workspace / "limit.txt", old.encode(), new.encode())
            middle = time.process_time()
            await edit()
            await rt.store.flush()
            times["limit"].append(middle - start)
            times["ours"].append(time.process_time() - middle)
    return figure("e", "edit_file 0.5 kB, CPU / bare atomic write", times, bar=6, goal=4)


async def _one(folder: Path, size_mb: int, rounds: int) -> list[Figure]:
    workspace = folder / f"workspace{size_mb}"
    workspace.mkdir()
    for name in ("limit.txt", "on.txt", "off.txt", "other.txt"):
        _write(workspace / name, size_mb)
    words = _turns()

    def limit() -> None:
        old, new = next(words)
        replace(workspace / "limit.txt", old.encode(), new.encode())

    candidates: dict[str, Candidate] = {"limit": limit}
    if edit := peers.deepagents_tools(workspace).get("edit_file"):
        candidates[peers.DEEPAGENTS] = _editor(edit, "file_path", "/other.txt")
    async with AsyncExitStack() as stack:
        for kept in ("on", "off"):
            rt = await stack.enter_async_context(
                handrail.open(
                    workspace,
                    store=folder / f"{kept}{size_mb}.sqlite",
                    config={"journal": kept == "on", "mode": "accept-edits"},
                )
            )
            candidates[kept] = _ours(rt, f"{kept}.txt")
        # A file that changed a moment ago is compared byte by byte before it is replaced. No model
        # edits that fast, so each edit waits until its file has settled.
        times = await interleave(candidates, rounds=rounds, settle=lambda: asyncio.sleep(0.025))
    what = f"edit_file {size_mb} MB, journal"
    on = {"ours": times.pop("on"), "limit": times["limit"]}
    off = {"ours": times.pop("off"), **times}
    small = size_mb == 1
    return [
        figure("e", f"{what} on / atomic write + fsync", on, bar=3 if small else 4, goal=2),
        figure("e", f"{what} off", off, bar=2, goal=1.5 if small else 1.3),
    ]


def _ours(rt: handrail.Runtime, name: str) -> Callable[[], Awaitable[object]]:
    words = _turns()

    async def edit() -> None:
        old, new = next(words)
        arguments = {"path": name, "old_string": old, "new_string": new}
        (await rt.call("edit_file", arguments)).unwrap()

    return edit


def _editor(edit: Callable[[dict[str, Any]], Any], argument: str, name: str) -> Candidate:
    words = _turns()

    def run() -> None:
        old, new = next(words)
        edit({argument: name, "old_string": old, "new_string": new})

    return run


def _turns() -> Iterator[tuple[str, str]]:
    return itertools.cycle([("marker_one", "marker_two"), ("marker_two", "marker_one")])


def replace(path: Path, old: bytes, new: bytes) -> None:
    """Read, replace, write a new file, fsync, rename, fsync the folder: the bare way."""
    data = path.read_bytes().replace(old, new, 1)
    beside = path.with_suffix(".tmp")
    with open(beside, "wb", buffering=0) as file:
        file.write(data)
        os.fsync(file.fileno())
    os.rename(beside, path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _write(path: Path, size_mb: int) -> None:
    line = "an ordinary line of text that fills the file up to its size\n"
    lines = size_mb * 1_000_000 // len(line)
    half = line * (lines // 2)
    path.write_text(f"{half}here is marker_one\n{half}")
