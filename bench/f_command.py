"""f. Commands beside the shell itself, long output beside a bare drain, sandboxes beside none."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import handrail
from bench.figure import (
    REPEATING,
    Candidate,
    Figure,
    NotMeasured,
    Row,
    Scale,
    Times,
    figure,
    interleave,
)
from handrail.core.ports.processes import Confinement, Launch
from handrail.host.processes.procfs import child_pids
from handrail.host.sandbox.local_sandbox import BACKENDS, LocalSandbox, open_sandbox
from handrail.host.supervisor.client import SupervisedProcesses

SHFMT = str(Path(sys.executable).with_name("shfmt"))
BYTES = 200_000_000
CHUNK = 1 << 16


async def measure(folder: Path, scale: Scale) -> list[Row]:
    workspace = folder / "workspace"
    workspace.mkdir()
    settings = {**REPEATING, "mode": "yolo", "sandbox": "none", "accept_no_sandbox": True}
    async with handrail.open(workspace, store=folder / "audit.sqlite", config=settings) as rt:
        figures = [
            await _trivial(rt, scale),
            await _parsed(rt, scale),
            *await _long(rt, scale),
        ]
    return [*figures, *await _sandboxes(workspace, scale)]


async def _trivial(rt: handrail.Runtime, scale: Scale) -> Figure:
    async def ours() -> object:
        return (await rt.call("run_command", {"command": "true"})).unwrap()

    times = await interleave(
        {"limit": lambda: _shell("true"), "ours": ours}, rounds=scale.rounds * 5, block=5
    )
    return figure("f", "run_command true / sh -c + pipe", times, bar=2, goal=1.2)


async def _parsed(rt: handrail.Runtime, scale: Scale) -> Figure:
    """Use a new text each time, because a command that was parsed before is not parsed again."""
    numbers = itertools.count()

    def text() -> str:
        return f"if [ {next(numbers)} -ge 0 ]; then true; fi"

    async def ours() -> object:
        return (await rt.call("run_command", {"command": text()})).unwrap()

    def limit() -> object:
        command = text()
        subprocess.run(
            [SHFMT, "--to-json"], input=command.encode(), capture_output=True, check=True
        )
        return _shell(command)

    times = await interleave({"limit": limit, "ours": ours}, rounds=scale.rounds * 5, block=5)
    what = "run_command that needs the parser / shfmt, then sh -c"
    return figure("f", what, times, bar=2, goal=1.3)


async def _long(rt: handrail.Runtime, scale: Scale) -> list[Figure]:
    # The fastest writer there is, so that the time of the command does not hide Handrail's.
    command = f"head -c {BYTES} /dev/zero"

    async def ours() -> object:
        return (await rt.call("run_command", {"command": command})).unwrap()

    def limit() -> int:
        with subprocess.Popen(["/bin/sh", "-c", command], stdout=subprocess.PIPE, bufsize=0) as one:
            output = one.stdout
            assert output is not None
            return sum(len(chunk) for chunk in iter(lambda: output.read(CHUNK), b""))

    await rt.call("run_command", {"command": "true"})
    everybody = [os.getpid(), *_below(os.getpid())]
    before = sum(_status(pid, "VmRSS") for pid in everybody)
    # Resets the peak, so that it is that of the next step.
    Path("/proc/self/clear_refs").write_text("5")
    await ours()
    grown = sum(_status(pid, "VmHWM") for pid in everybody) - before
    times = await interleave({"limit": limit, "ours": ours}, rounds=scale.rounds)
    what = f"{BYTES // 1_000_000} MB of output"
    return [
        figure("f", f"{what} / bare drain", times, bar=1.5, goal=1.3),
        Figure(
            "f", f"{what}: memory of all our processes", 0, grown, 0, 16, 4, "MB", absolute=True
        ),
    ]


async def _sandboxes(workspace: Path, scale: Scale) -> list[Row]:
    """The same program through the same supervisor, with and without confinement."""
    launch = Launch(
        ("/bin/true",),
        str(workspace),
        {"PATH": "/usr/bin:/bin"},
        Confinement((str(workspace),)),
        30,
    )
    opened = {name: sandbox for name in BACKENDS if (sandbox := open_backend(workspace, name))}
    runners = {name: SupervisedProcesses(sandbox.recipe, None) for name, sandbox in opened.items()}

    def candidate(name: str) -> Candidate:
        async def run() -> object:
            ended = await runners[name].run(launch)
            assert ended.exit_code == 0, ended
            return ended

        return run

    times = await interleave(
        {name: candidate(name) for name in opened}, rounds=scale.rounds * 5, block=5
    )
    for name in opened:
        await runners[name].aclose()
        opened[name].close()
    bounds = {"landlock": (3, 1.5), "bubblewrap": (8, 5)}
    return [_sandbox_row(name, times, bar, goal) for name, (bar, goal) in bounds.items()]


def open_backend(workspace: Path, name: str) -> LocalSandbox | None:
    """Return the sandbox; None if this machine does not have it."""
    sandbox = open_sandbox([str(workspace)], backend=name)
    try:
        # The backend is measured only when it is needed.
        assert sandbox.backend == name
    except handrail.ProblemRaised:
        sandbox.close()
        return None
    return sandbox


def _sandbox_row(name: str, times: Times, bar: float, goal: float) -> Row:
    what = f"/bin/true in {name} / unconfined"
    if name not in times:
        return NotMeasured("f", what, name)
    return figure("f", what, {"limit": times["none"], "ours": times[name]}, bar=bar, goal=goal)


def _shell(command: str) -> object:
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True)


def _below(pid: int) -> list[int]:
    found = child_pids(pid)
    return found + [below for one in found for below in _below(one)]


def _status(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024
