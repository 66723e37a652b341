"""u. Six subagents that each make one call after the other, beside the same calls in one batch with six
in flight. The calls take a tenth of a second, as a small command does; the model answers at once.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import handrail
from bench.figure import REPEATING, Figure, Scale, figure, interleave
from handrail.core.ports.models import ModelRequest
from handrail.models.custom import CustomModel, CustomReply

AGENTS = 6
CALLS = 12
CALL_S = 0.1


class CallingModel(CustomModel):
    """Starts the agents as the main agent; as one of them, makes its calls one by one."""

    name = "calling"

    def __init__(self) -> None:
        self._tasks = 0

    async def reply(self, request: ModelRequest) -> CustomReply:
        step = sum(one.role == "assistant" for one in request.messages)
        if request.messages[0].text.startswith("Part"):
            made = (("wait", {"number": step}),) if step < CALLS else ()
            return CustomReply("" if made else "done", made)
        if step:
            return CustomReply("done")
        self._tasks += 1
        parts = [f"Part {number} of task {self._tasks}" for number in range(AGENTS)]
        return CustomReply(
            calls=tuple(("subagent", {"task": part, "agent": "general"}) for part in parts)
        )


@handrail.tool(reads_only=True)
async def wait(number: int) -> str:
    """Wait as long as a small command takes."""
    await asyncio.sleep(CALL_S)
    return f"waited {number}"


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    workspace.mkdir()
    calls = [
        {"name": "wait", "arguments": {"number": number}}
        for _ in range(AGENTS)
        for number in range(CALLS)
    ]
    async with handrail.open(
        workspace,
        model=CallingModel(),
        tools=[wait],
        mode="bypass",
        store=folder / "audit.sqlite",
        config={**REPEATING, "most_at_once": AGENTS, "max_steps": 2 * CALLS},
    ) as rt:

        async def in_one_batch() -> None:
            await rt.batch(calls)

        async def by_agents() -> None:
            result = await rt.agent(allowed=["wait", "subagent"]).run("Go")
            done = [one.status for one in result.report.children]
            assert done == ["done"] * AGENTS, done

        taken = await interleave({"limit": in_one_batch, "ours": by_agents}, rounds=scale.rounds)
    what = f"{AGENTS} subagents, {CALLS} calls of {CALL_S * 1e3:.0f} ms each, beside one batch"
    return [figure("u", what, taken, bar=1.25, goal=1.1)]
