"""a. A small file read through the whole pipeline, record included, beside `open().read()`, in two
ways: in turns, call by call, as a program does that works between its calls, where both find the
processor's caches cold; and in tight loops of each, where both find them warm.

Each candidate takes turns with the limit alone. A loop is measured by the CPU time of the process,
all its threads included, until the record is written: other programs disturb that little, and it
hides no work that the store does meanwhile.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import handrail
from bench import peers
from bench.figure import Candidate, Figure, Scale, Times, figure, interleave, time_block

_STRETCH = 20
_LOOP = 200


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    text = "".join(f"line {number:03} of a small file\n" for number in range(36))[:1000]
    # Several files in turn: reading one file again and again would be reported as a loop.
    names = [f"small{number}.txt" for number in range(32)]
    for name in names:
        (workspace / name).write_text(text)
    paths = cycle([str(workspace / name) for name in names])
    turn = cycle(names)

    def limit() -> str:
        with open(next(paths)) as file:
            return file.read()

    async with handrail.open(workspace, store=folder / "audit.sqlite") as rt:

        async def ours() -> object:
            return await rt.call("read_file", {"path": next(turn)})

        (await rt.call("read_file", {"path": names[0]})).unwrap()
        candidates: dict[str, Candidate] = {"ours": ours}
        if read := peers.deepagents_tools(workspace).get("read_file"):
            candidates[peers.DEEPAGENTS] = lambda: read({"file_path": f"/{next(turn)}"})
        if call := await peers.pydantic_ai_read():

            async def other() -> object:
                return await call(next(paths))

            candidates[peers.PYDANTIC_AI] = other
        turns: list[Figure] = []
        loops: list[Figure] = []
        for candidate in candidates.values():
            pair = {"limit": limit, "ours": candidate}
            settle = rt.store.flush
            times = await interleave(pair, rounds=scale.calls, settle=settle, settle_every=100)
            turns.append(_in_turns(times))
            times = {name: [] for name in pair}
            for _ in range(max(20, scale.calls // 50)):
                for name, one in pair.items():
                    times[name].append(await _cpu_of_loop(one, settle))
            what = "the same, in tight loops, CPU of all threads"
            loops.append(figure("a", what, times, bar=8, goal=6, unit="µs"))
    names = list(candidates)[1:]
    return [
        replace(ours, peers={name: one.ratio for name, one in zip(names, others, strict=True)})
        for ours, *others in (turns, loops)
    ]


async def _cpu_of_loop(candidate: Candidate, settle: Callable[[], Awaitable[object]]) -> float:
    """CPU seconds of the process per call."""
    start = time.process_time()
    await time_block(candidate, _LOOP)
    await settle()
    return (time.process_time() - start) / _LOOP


def _in_turns(times: Times) -> Figure:
    what = "read_file 1 kB / open().read(), in turns"
    line = figure("a", what, times, bar=4.5, goal=3, unit="µs")
    return replace(line, ratio=statistics.median(_ratios(times["ours"], times["limit"])))


def _ratios(ours: list[float], limit: list[float]) -> list[float]:
    """Return how the medians of each stretch of calls compare. The ratio of two single calls is not
    steady, and the medians of all calls may come from different halves of the run, during one of
    which the machine may have been twice as fast.
    """
    starts = range(0, len(ours) - _STRETCH + 1, _STRETCH)
    stretches = [slice(start, start + _STRETCH) for start in starts]
    return [statistics.median(ours[one]) / statistics.median(limit[one]) for one in stretches]
