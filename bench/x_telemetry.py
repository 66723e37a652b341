"""x. A read with telemetry off, while another runtime of the process reports its own, beside a read of a
runtime without the setting: what is off must cost nothing. Then the same with telemetry on, to be known.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path

import handrail
from bench.figure import REPEATING, Candidate, Figure, Scale, figure, interleave

NAMES = [f"small{number}.txt" for number in range(32)]


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    for name in NAMES:
        (workspace / name).write_text("a line of a small file\n" * 40)
    async with AsyncExitStack() as stack:

        async def reader(session: str, **settings: bool) -> Candidate:
            rt = await stack.enter_async_context(
                handrail.open(
                    workspace,
                    session=session,
                    store=folder / f"{session}.sqlite",
                    config={**REPEATING, **settings},
                )
            )
            turn = cycle(NAMES)

            async def read() -> object:
                return await rt.call("read_file", {"path": next(turn)})

            return read

        unset = await reader("unset")
        reporting = await reader("on", telemetry=True)
        off = await reader("off", telemetry=False)
        unchanged = await interleave({"limit": unset, "ours": off}, rounds=2 * scale.calls)
        known = await interleave({"limit": unset, "ours": reporting}, rounds=scale.calls)
    return [
        figure("x", "read, telemetry off", unchanged, bar=1.01, goal=1.01),
        figure("x", "read, telemetry on (no exporter)", known, bar=None, goal=None),
    ]
