"""o. How undo grows: a command that removed twice as many files takes at most about twice the CPU
time of this process to run with its record, to undo and to redo. `limit` is the smaller number of
files, `ours` the larger. Files are in memory where possible: on a disk, a bare loop that makes
3,000 of them takes between 60 and 1,400 ms of CPU time.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from unittest import mock

import handrail
from bench.figure import REPEATING, Figure, Scale, Times, figure

STEPS = ("CPU of a command that removes", "CPU of undo of", "CPU of redo of")
MEMORY = Path("/dev/shm")


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    place = MEMORY if os.access(MEMORY, os.W_OK) else folder
    with (
        tempfile.TemporaryDirectory(prefix="handrail-bench-", dir=place) as top,
        # The copies of files are in the state directory.
        mock.patch.dict(os.environ, {"XDG_STATE_HOME": os.path.join(top, "state")}),
    ):
        return await _growth(Path(top), scale)


async def _growth(folder: Path, scale: Scale) -> list[Figure]:
    count = scale.files // 10
    rounds = max(1, scale.rounds // 5)
    times: list[Times] = [{"limit": [], "ours": []} for _ in STEPS]
    for turn in range(rounds):
        for name, files in (("limit", count), ("ours", 2 * count)):
            taken = await _steps(folder / f"{turn}-{name}", files)
            for one, seconds in zip(times, taken, strict=True):
                one[name].append(seconds)
    return [
        figure("o", f"{what} {2 * count:,} / {count:,} files", one, bar=2.3, goal=2.1)
        for what, one in zip(STEPS, times, strict=True)
    ]


async def _steps(folder: Path, files: int) -> list[float]:
    root = folder / "workspace"
    grow(root, files)
    taken = []
    # Without a sandbox, so that the growth of undo is measured on every machine.
    config = {**REPEATING, "sandbox": "none", "accept_no_sandbox": True}
    store = folder / "store.db"
    async with handrail.open(root, store=store, mode="sandboxed", config=config) as rt:
        # The first command sets up things that do not grow.
        await rt.call("run_command", {"command": "touch first"})
        steps: list[Callable[[], Awaitable[handrail.ToolResult]]] = [
            lambda: rt.call("run_command", {"command": "rm -rf data"}),
            rt.undo,
            rt.redo,
        ]
        for step in steps:
            started = time.process_time()
            result = await step()
            taken.append(time.process_time() - started)
            assert result.ok, result.text
    return taken


def grow(root: Path, files: int) -> None:
    for number in range(files):
        place = root / f"data/d{number // 100}"
        if number % 100 == 0:
            place.mkdir(parents=True)
        (place / f"f{number}.txt").write_text(f"line of file {number}\n" * 10)
