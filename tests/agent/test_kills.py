"""A process that works on a task is killed at random moments: the conversation goes on, and no
effect happens twice.
"""

import asyncio
import json
import os
import random
import signal
import sys

import pytest
from tests.models.speaking import WIRES

from handrail.testing import FakeProvider, calls, says

WRITES = 12
PROGRAM = """
import asyncio, json, sys
import handrail

async def main():
    root, settings, session = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
    async with handrail.open(
        root, mode="accept-edits", session=session, config=settings, model="fake"
    ) as rt:
        agent = handrail.Agent(rt, session=session)
        try:
            result = await agent.resume()
        except handrail.ProblemRaised:
            result = await agent.run("write the lines")
        print(json.dumps(result.to_dict()))

asyncio.run(main())
"""


def line(number):
    return calls("write_file", path="out.txt", content=f"line {number}\n", mode="append")


async def run_once(arguments, kill_after_s):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), kill_after_s)
    except TimeoutError:
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        return None
    return json.loads(out) if process.returncode == 0 else {"status": "crashed"}


async def work_through_kills(tmp_path, wire, seed, kills):
    """Kill the process some times, then let it finish; returns the last result and the file."""
    rng = random.Random(seed)
    root = tmp_path / "workspace"
    root.mkdir()
    script = [line(number) for number in range(WRITES)]
    async with FakeProvider([*script, says("all written")], pace_s=0.002) as provider:
        table = {"wire": wire, "base_url": provider.base_url(wire), "model": "m"}
        settings = json.dumps({"models": {"fake": table}})
        arguments = [str(root), settings, f"s{seed}"]
        killed = 0
        for _ in range(kills):
            seen = len(provider.requests)
            result = await run_once(arguments, 0.4 + rng.random() * 0.8)
            if result is not None:
                break
            killed += len(provider.requests) > seen
        for _ in range(5):
            if result is not None and result["status"] != "failed":
                break
            result = await run_once(arguments, 60)
    return result, root.joinpath("out.txt").read_text().splitlines(), killed


@pytest.mark.feature("U03", "B14")
@pytest.mark.parametrize("wire", WIRES)
async def test_a_killed_task_goes_on_and_does_nothing_twice(tmp_path, wire):
    result, lines, killed = await work_through_kills(
        tmp_path, wire, seed=WIRES.index(wire), kills=5
    )

    assert result["status"] == "done"
    # A kill may cost the message that was being streamed, never more.
    assert WRITES - killed <= len(lines) <= WRITES
    assert len(lines) == len(set(lines))
    assert lines == sorted(lines, key=lambda text: int(text.split()[1]))
