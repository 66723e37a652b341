"""`handrail run` is killed at instrumented points and at random moments: the conversation goes on with
valid requests, no effect happens twice, and the files equal the record.
"""

import asyncio
import json
import os
import random
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.models.speaking import WIRES

import handrail
from handrail.models.wires.formats import FORMATS
from handrail.testing import FakeProvider, calls, says, together

WRITES = 4
# For each wire; `test_five_hundred_kills` has the long run.
KILLS = 15
ROOT = Path(__file__).parents[2]


def step(number):
    """A message that reads twice and appends a line of its own."""
    line = {"path": "out.txt", "content": f"line {number}\n", "mode": "append"}
    return together(
        calls("read_file", path="a.txt"), calls("write_file", **line), calls("glob", pattern="*")
    )


class Runs:
    """Runs of one workspace, started by a process that has imported everything."""

    def __init__(self, process, folder):
        self._process = process
        self.root = folder / "workspace"
        self.root.mkdir(parents=True)
        self.root.joinpath("a.txt").write_text("one\n")
        self._out = str(folder / "out")
        # A record of its own: a kill in one workspace must not cost another one a recovery.
        self._env = {
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }

    def configure(self, wire, provider):
        settings = Path(self._env["XDG_CONFIG_HOME"]) / "handrail" / "config.toml"
        settings.parent.mkdir(parents=True)
        table = {"wire": wire, "base_url": provider.base_url(wire), "model": "m"}
        lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
        settings.write_text("\n".join(['model = "fake"', "[models.fake]", *lines, ""]))

    async def run(self, *words, kill_at=0, kill_after_s=0.0):
        request = {
            "cwd": str(self.root),
            "env": self._env,
            "out": self._out,
            "words": ["run", "--json", "--mode", "accept-edits", *words],
            "kill_at": kill_at,
            "kill_after_s": kill_after_s,
        }
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        line = await asyncio.wait_for(self._process.stdout.readline(), 60)
        answer = json.loads(line)
        text = Path(self._out).read_text() if os.path.exists(self._out) else ""
        return answer["code"], answer["passed"], text

    async def written(self):
        """The lines that the record says were written, in order."""
        before = {name: os.environ.get(name) for name in self._env}
        os.environ.update(self._env)
        try:
            async with handrail.open(self.root, session="reader") as rt:
                recorded = await rt.store.calls(limit=10_000)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
        done = [
            one
            for one in sorted(recorded, key=lambda one: one.requested_ns)
            if one.completed
            and one.completed.get("status") == "ok"
            and one.completed.get("changes")
        ]
        return "".join(one.requested["arguments"]["content"] for one in done)


@asynccontextmanager
async def warm_process():
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.support.killed_runs",
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 20)


async def work_through_kills(process, folder, wire, rng, kills):
    """Kill runs of one session; returns how many were killed. Checks after each that the next run
    can go on.
    """
    runs = Runs(process, folder)
    script = [step(number) for number in range(kills + WRITES)]
    async with FakeProvider([*script, says("all written")], pace_s=0.001) as provider:
        runs.configure(wire, provider)
        done = 0
        words = ("--session", "s", "write the lines")
        most = 60
        while done < kills:
            if rng.random() < 0.7:
                how = {"kill_at": rng.randrange(1, most)}
            else:
                how = {"kill_after_s": 0.02 + rng.random() * 0.5}
            code, passed, text = await runs.run(*words, **how)
            done += code == -9
            assert code in (0, -9), text
            most = max(most, passed)
            words = ("--resume", "s") if code == -9 and known(text) else ("-c", "go on")
            if code == -9 and not known(text) and not provider.requests:
                # Killed before the session was on record.
                words = ("--session", "s", "write the lines")
        code, _, text = await runs.run("-c", "finish")
        assert code == 0, text
        for request in provider.requests:
            FORMATS[wire].check(request.body)
        bodies = [request.body for request in provider.requests]
    lines = (
        runs.root.joinpath("out.txt").read_text() if runs.root.joinpath("out.txt").exists() else ""
    )
    assert lines == await runs.written()
    assert len(lines.splitlines()) == len(set(lines.splitlines()))
    assert bodies
    return done


def known(text):
    """Whether the run got as far as its task."""
    return '"agent_start"' in text


@pytest.mark.feature("U03", "B14")
@pytest.mark.threat("A20")
@pytest.mark.parametrize("wire", WIRES)
async def test_a_killed_run_goes_on_and_does_nothing_twice(tmp_path, wire):
    rng = random.Random(WIRES.index(wire))
    async with warm_process() as process:
        killed = await work_through_kills(process, tmp_path / "w", wire, rng, kills=KILLS)

    assert killed == KILLS


@pytest.mark.torture
@pytest.mark.parametrize("wire", WIRES)
async def test_five_hundred_kills(tmp_path, wire):
    rng = random.Random()
    async with warm_process() as process:
        for number in range(5):
            await work_through_kills(process, tmp_path / f"w{number}", wire, rng, kills=25)


@pytest.mark.torture
async def test_a_kill_at_every_point(tmp_path):
    async with warm_process() as process:
        for wire in WIRES:
            point, code = 0, -9
            while code == -9:
                point += 1
                runs = Runs(process, tmp_path / f"{wire}-{point}")
                async with FakeProvider([step(0), step(1), says("done"), says("done")]) as provider:
                    runs.configure(wire, provider)
                    code, _, text = await runs.run("--session", "s", "write", kill_at=point)
                    if code == 0:
                        break
                    again = ("--resume", "s") if known(text) else ("--session", "s", "write")
                    code_after, _, after = await runs.run(*again)
                    assert code_after == 0 or "not_found" in after, after
                    for request in provider.requests:
                        FORMATS[wire].check(request.body)
                file = runs.root.joinpath("out.txt")
                lines = file.read_text() if file.exists() else ""
                assert lines == await runs.written()
                assert len(lines.splitlines()) == len(set(lines.splitlines()))
            assert point > 50
