"""w. A read and an edit with the record in PostgreSQL, beside the same with SQLite.

The server is on this machine and on a socket, with fsync; both wait for an edit to be on disk.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from tests.support.postgres_server import programs, running_server

import handrail
from bench.figure import REPEATING, Figure, Scale, figure, interleave


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    if programs() is None:
        raise FileNotFoundError(2, "not installed", "initdb")
    rounds = max(40, scale.calls // 20)
    workspace = folder / "workspace"
    workspace.mkdir()
    with running_server(fsync=True) as server:
        stores = {"limit": folder / "record.sqlite", "ours": server.new_store()}
        async with AsyncExitStack() as stack:
            reads: dict[str, Callable[[], Awaitable[object]]] = {}
            edits: dict[str, Callable[[], Awaitable[object]]] = {}
            for name, store in stores.items():
                (workspace / f"{name}.txt").write_text("an ordinary line\n" * 30 + "marker_one\n")
                config = {"mode": "accept-edits", **REPEATING}
                opening = handrail.open(workspace, store=store, config=config)
                rt = await stack.enter_async_context(opening)
                reads[name], edits[name] = _read(rt, name), _edit(rt, name)
            read = await interleave(reads, rounds=rounds, block=5)
            edit = await interleave(edits, rounds=rounds, settle=lambda: asyncio.sleep(0.025))
    return [
        figure("w", "read_file, record in PostgreSQL / SQLite", read, bar=None, goal=None),
        figure("w", "edit_file, record in PostgreSQL / SQLite", edit, bar=None, goal=None),
    ]


def _read(rt: handrail.Runtime, name: str) -> Callable[[], Awaitable[object]]:
    async def read() -> None:
        (await rt.call("read_file", {"path": f"{name}.txt"})).unwrap()

    return read


def _edit(rt: handrail.Runtime, name: str) -> Callable[[], Awaitable[object]]:
    words = itertools.cycle([("marker_one", "marker_two"), ("marker_two", "marker_one")])

    async def edit() -> None:
        old, new = next(words)
        arguments = {"path": f"{name}.txt", "old_string": old, "new_string": new}
        (await rt.call("edit_file", arguments)).unwrap()

    return edit
