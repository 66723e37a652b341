"""j. What a row of the record costs the call that leaves it: the caller's side of `append`.

The limit is a bare append of the same text to a file; the bar is in microseconds.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from bench.figure import Figure, Scale, figure, interleave
from handrail.core.ports.records import Row
from handrail.store.sqlite.store import open_store

BLOCK = 20


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    payload = {
        "tool": "read_file",
        "arguments": {"path": "src/some/module.py", "offset": 1, "limit": 200},
        "agent": "main",
        "footprint": ["file:src/some/module.py read"],
        "verdict": {"effect": "allow", "rule": "mode:default", "reason": "nothing against it"},
        "text": "x" * 300,
    }
    line = json.dumps(payload).encode()
    bare = os.open(folder / "bare.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    store = open_store(folder / "audit.sqlite")
    await store.open_session("bench", {})
    ids = iter(range(10_000_000))

    def ours() -> None:
        number = next(ids)
        store.append(Row("bench", "requested", str(number), 1, number, payload))

    def limit() -> None:
        os.write(bare, line)

    times = await interleave({"limit": limit, "ours": ours}, rounds=scale.calls // 10, block=BLOCK)
    await store.flush()
    await store.aclose()
    os.close(bare)
    what = f"audit row of {len(line)} bytes, caller's side / write()"
    return [replace(figure("j", what, times, bar=10, goal=5, unit="µs"), absolute=True)]
