"""n. What grows with size: CPU time per call of long batches; the longest pass of the event loop
meanwhile, garbage collections included; the bytes that a repeated read adds to the record; patches
of many hunks in long files, beside the sum of the two alone; and replacing many places, beside
`bytes.replace` and beside half as many.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import sqlite3
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import handrail
from bench.figure import REPEATING, Figure, Scale

SHORT, LONG = 100, 5_000
HUNKS, FEW, LINES = 200, 10, 80_000
PLACES = 1_000_000
ROUNDS = 3
REPEATS = 500
_numbers = itertools.count()
Calls = list[dict[str, Any]]


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    _fill(workspace)
    figures: list[Figure] = []
    settings = {**REPEATING, "mode": "accept-edits", "freshness": "off"}
    async with handrail.open(workspace, store=folder / "audit.sqlite", config=settings) as rt:
        kinds = {"reads": _reads, "mixed calls": _mixed, "writes of new files": _writes}
        for name, make in kinds.items():
            # Each write is synced, which takes long.
            rounds = 1 if make is _writes else ROUNDS
            figures += await _batches(rt, name, make, rounds)
    return [
        *figures,
        await _repeated_reads(folder),
        await _patches(folder),
        *await _replacements(folder),
    ]


async def _repeated_reads(folder: Path) -> Figure:
    """Bytes of the record per repeated read, beside the text that each of them returns."""
    workspace, store = folder / "repeated", folder / "repeated.sqlite"
    workspace.mkdir()
    text = "".join(f"line {at} of a file that does not change\n" for at in range(1_000))
    (workspace / "a.txt").write_text(text)
    async with handrail.open(workspace, store=store, config=REPEATING) as rt:
        result = await rt.call("read_file", {"path": "a.txt"})
        sizes = []
        for _ in range(2):
            await rt.store.flush()
            with closing(sqlite3.connect(store)) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            sizes.append(store.stat().st_size)
            for _ in range(REPEATS):
                await rt.call("read_file", {"path": "a.txt"})
    added = (sizes[1] - sizes[0]) / REPEATS
    size = len(result.text)
    what = f"record, bytes per repeated read of {size // 1000} kB"
    return Figure("n", what, size, added, added / size, 1000, 950, unit="B", absolute=True)


async def _batches(
    rt: handrail.Runtime, name: str, make: Callable[[int], Calls], rounds: int
) -> list[Figure]:
    short: list[float] = []
    long: list[float] = []
    passes: list[float] = []
    await _cpu(rt, make(SHORT))
    for _ in range(rounds):
        several = [await _cpu(rt, make(SHORT)) for _ in range(10)]
        short.append(statistics.median([taken for taken, _ in several]) / SHORT)
        taken, longest = await _cpu(rt, make(LONG))
        long.append(taken / LONG)
        passes.append(longest)
    limit, ours = statistics.median(short) * 1e3, statistics.median(long) * 1e3
    what = f"CPU per call, batch of {LONG:,} {name} / of {SHORT}"
    worst = statistics.median(passes) * 1e3
    return [
        Figure("n", what, limit, ours, ours / limit, 1.3, 1.1),
        Figure("n", f"longest loop pass, {LONG:,} {name}", 50, worst, worst / 50, 50, 25,
               absolute=True),
    ]  # fmt: skip


async def _cpu(rt: handrail.Runtime, calls: Calls) -> tuple[float, float]:
    """CPU seconds of this thread for a batch, and the most in one pass of the loop."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, before = max(longest, now - before), now

    gc.collect()
    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    start = time.thread_time()
    results = await rt.batch(calls)
    taken = time.thread_time() - start
    watching.cancel()
    assert len(results) == len(calls)
    return taken, longest


def _fill(workspace: Path) -> None:
    for at in range(50):
        (workspace / f"d{at}").mkdir(parents=True)
        (workspace / f"d{at}" / "a.txt").write_text("a line of text\n" * 20)
    for at in range(40):
        (workspace / f"shared{at}.txt").write_text("value 0\n")


def _reads(count: int) -> Calls:
    return [_call("read_file", path=f"d{at % 50}/a.txt") for at in range(count)]


def _writes(count: int) -> Calls:
    """Writes of files that do not exist, in a folder of their own."""
    folder = f"new{next(_numbers)}"
    return [
        _call("write_file", path=f"{folder}/{at}.txt", content=f"{at}\n") for at in range(count)
    ]


def _mixed(count: int) -> Calls:
    """Of ten calls six reads, a write of one of forty files, a read of it, a listing, a search."""
    calls: Calls = []
    for at in range(count):
        match at % 10:
            case 6:
                calls.append(_call("write_file", path=f"shared{at % 40}.txt", content=f"{at}\n"))
            case 7:
                calls.append(_call("read_file", path=f"shared{(at - 1) % 40}.txt"))
            case 8:
                calls.append(_call("list_files", path=f"d{at % 50}"))
            case 9:
                calls.append(_call("file_info", paths=[f"d{at % 50}/a.txt"]))
            case _:
                calls.append(_call("read_file", path=f"d{at % 50}/a.txt"))
    return calls


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


async def _patches(folder: Path) -> Figure:
    """Many hunks in a long file, beside many hunks in a short one plus a few in a long one."""
    workspace = folder / "patches"
    workspace.mkdir()
    settings = {**REPEATING, "mode": "accept-edits", "freshness": "off"}
    async with handrail.open(workspace, store=":memory:", config=settings) as rt:
        alone: list[float] = []
        both: list[float] = []
        for _ in range(ROUNDS):
            alone.append(
                await _patch(rt, workspace, HUNKS, 5 * HUNKS)
                + await _patch(rt, workspace, FEW, LINES)
            )
            both.append(await _patch(rt, workspace, HUNKS, LINES))
    limit, ours = statistics.median(alone) * 1e3, statistics.median(both) * 1e3
    what = f"apply_patch, {HUNKS} hunks in {LINES:,} lines / hunks alone + lines alone"
    return Figure("n", what, limit, ours, ours / limit, 1.3, 1.1)


async def _patch(rt: handrail.Runtime, workspace: Path, hunks: int, count: int) -> float:
    lines = [f"    value_{at} = compute({at})" for at in range(count)]
    (workspace / "a.py").write_text("\n".join(lines) + "\n")
    parts = ["--- a/a.py", "+++ b/a.py"]
    for at in range(2, count, count // hunks):
        above, line, below = lines[at - 1 : at + 2]
        parts += ["@@", f" {above}", f"-{line}", f"+{line}0", f" {below}"]
    start = time.process_time()
    result = await rt.call("apply_patch", {"patch": "\n".join(parts) + "\n"})
    taken = time.process_time() - start
    assert result.ok, result.text
    return taken


async def _replacements(folder: Path) -> list[Figure]:
    """Replacing all of many places: CPU time beside the bare work and half the places, and the
    longest pass of the event loop.
    """
    workspace = folder / "replacements"
    workspace.mkdir()
    half: list[float] = []
    ours: list[float] = []
    bare: list[float] = []
    passes: list[float] = []
    settings = {**REPEATING, "mode": "accept-edits", "freshness": "off"}
    async with handrail.open(workspace, store=":memory:", config=settings) as rt:
        await _replace(rt, workspace, 1_000)
        for _ in range(ROUNDS):
            half.append((await _replace(rt, workspace, PLACES // 2))[0])
            taken, longest = await _replace(rt, workspace, PLACES)
            ours.append(taken)
            passes.append(longest)
            data = b"ab\n" * PLACES
            start = time.process_time()
            (workspace / "bare.txt").write_bytes(data.replace(b"a", b"xy"))
            bare.append(time.process_time() - start)
    least, most, alone = (statistics.median(one) * 1e3 for one in (half, ours, bare))
    worst = statistics.median(passes) * 1e3
    what = f"replace_all of {PLACES:,} places"
    return [
        Figure("n", f"{what} / bytes.replace", alone, most, most / alone, 20, 10),
        Figure("n", f"{what} / of half as many", least, most, most / least, 2.4, 2.1),
        Figure("n", f"longest loop pass, {what}", 50, worst, worst / 50, 50, 25, absolute=True),
    ]


async def _replace(rt: handrail.Runtime, workspace: Path, places: int) -> tuple[float, float]:
    """CPU seconds of the process for one call, and the most of this thread in one loop pass."""
    (workspace / "a.txt").write_bytes(b"ab\n" * places)
    call = _call("edit_file", path="a.txt", old_string="a", new_string="xy", replace_all=True)
    start = time.process_time()
    (result,) = await rt.batch([call])
    taken = time.process_time() - start
    assert result.ok, result.text
    (workspace / "a.txt").write_bytes(b"ab\n" * places)
    _, longest = await _cpu(rt, [call])
    return taken, longest
