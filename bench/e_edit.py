"""e. One word changed in a large file, durably, beside a bare atomic write with fsync."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import handrail
from bench import peers
from bench.figure import Candidate, Figure, Scale, figure, interleave


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    return [
        await _one(folder / "small", 1, max(20, scale.rounds * 5), bar=2, goal=1.5),
        await _one(folder / "large", scale.big_edit_mb, scale.rounds, bar=2, goal=1.3),
    ]


async def _one(folder: Path, size_mb: int, rounds: int, *, bar: float, goal: float) -> Figure:
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    for name in ("limit.txt", "ours.txt", "other.txt"):
        _write(workspace / name, size_mb)
    bare = itertools.cycle([(b"marker_one", b"marker_two"), (b"marker_two", b"marker_one")])

    def limit() -> None:
        replace(workspace / "limit.txt", *next(bare))

    turns = itertools.cycle([("marker_one", "marker_two"), ("marker_two", "marker_one")])
    async with handrail.open(workspace, store=folder / "audit.sqlite", mode="accept-edits") as rt:
        (await rt.call("read_file", {"path": "ours.txt", "limit": 5})).unwrap()

        async def ours() -> None:
            old, new = next(turns)
            arguments = {"path": "ours.txt", "old_string": old, "new_string": new}
            (await rt.call("edit_file", arguments)).unwrap()

        candidates: dict[str, Candidate] = {"limit": limit, "ours": ours}
        if edit := peers.deepagents_tools(workspace).get("edit_file"):
            theirs = itertools.cycle([("marker_one", "marker_two"), ("marker_two", "marker_one")])

            def other() -> None:
                old, new = next(theirs)
                edit({"file_path": "/other.txt", "old_string": old, "new_string": new})

            candidates[peers.DEEPAGENTS] = other
        medians = await interleave(candidates, rounds=rounds)
    what = f"edit_file {size_mb} MB, durable / atomic write + fsync"
    return figure("e", what, medians, bar=bar, goal=goal)


def replace(path: Path, old: bytes, new: bytes) -> None:
    """The bare way: read, replace, write beside, fsync, rename, fsync the folder."""
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
