"""s. A step of an agent with a model that answers at once, without network, and one read, beside a read
of the same file alone (measure a).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from itertools import cycle
from pathlib import Path

import handrail
from bench.figure import REPEATING, Figure, Scale, figure, interleave
from handrail.core.ports.models import (
    CallBlock,
    CallClosed,
    CallOpened,
    Finish,
    Message,
    MessageDone,
    ModelEvent,
    ModelLimits,
    ModelRequest,
    TextBlock,
    TextDelta,
    UsageReported,
)

STEPS = 20
NAMES = [f"small{number}.txt" for number in range(32)]


class InstantModel:
    """Reads a file in each message, and answers in the last."""

    name, wire, limits = "instant", "custom", ModelLimits()

    def __init__(self) -> None:
        self._made = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self._made += 1
        if self._made % STEPS == 0:
            yield TextDelta("done")
            yield UsageReported(100, 10)
            yield MessageDone(Finish.END, Message("assistant", (TextBlock("done"),)))
            return
        call = CallBlock(f"c{self._made}", "read_file", f'{{"path": "{NAMES[self._made % 32]}"}}')
        yield CallOpened(0, call.id, call.name)
        yield CallClosed(0, call.id, call.name, call.arguments_json)
        yield UsageReported(100, 10)
        yield MessageDone(Finish.CALLS, Message("assistant", (call,)))

    async def aclose(self) -> None:
        return


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    for name in NAMES:
        (workspace / name).write_text("x" * 1000)
    turn = cycle(NAMES)
    model = InstantModel()
    async with handrail.open(
        workspace, store=folder / "audit.sqlite", config=REPEATING, model=model
    ) as rt:

        async def reads() -> None:
            for _ in range(STEPS):
                assert (await rt.call("read_file", {"path": next(turn)})).ok

        async def steps() -> None:
            result = await rt.agent(max_steps=STEPS).run("go")
            assert result.usage.requests == STEPS

        await reads()
        await steps()
        began = time.perf_counter()
        await steps()
        rounds = max(5, min(scale.rounds, int(20 / (time.perf_counter() - began))))
        times = await interleave({"limit": reads, "ours": steps}, rounds=rounds)
    return [figure("s", "step of an agent's loop / read (measure a)", times, bar=20.0, goal=None)]
