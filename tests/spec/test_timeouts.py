"""A program that does everything to stay is gone when its time is up, on every backend."""

import os
from collections import Counter
from pathlib import Path

import anyio
import pytest
from tests.support.machine import SANDBOXES_AND_NONE

from handrail.core.ports.processes import Confinement, Launch
from handrail.host.sandbox.local_sandbox import open_sandbox
from handrail.host.supervisor.client import SupervisedProcesses

# How a program can try to outlive its end: by a session of its own, by losing its parent,
# by being deaf, stopped or nameless, by saying something all the time, by moving on.
STUBBORN = {
    "setsid": "setsid sleep 600 & sleep 601",
    "setsid twice": "setsid setsid setsid sleep 600 & setsid sleep 601 & wait",
    "double fork": "(setsid bash -c 'sleep 600 & disown' &); sleep 601",
    "daemon": "(cd /; exec setsid nohup sleep 600 > /dev/null 2>&1 < /dev/null &); sleep 601",
    "deaf": "trap '' TERM INT HUP QUIT; sleep 600; sleep 601; sleep 602",
    "deaf family": "trap '' TERM; setsid sleep 600 & (sleep 601; sleep 602) & sleep 603; sleep 604",
    "stopped": "sleep 600 & kill -STOP $!; kill -STOP $$",
    "nameless": "(env -i setsid sleep 600 &); env -i sleep 601",
    "talkative": "yes & yes >&2",
    "restless": "trap '' TERM; sleep 600 & while :; do sleep 0.01 & wait $!; done",
}


class Room:
    """A workspace in which programs run; each bears a mark by which it is found."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.mark = f"mark-{os.getpid()}-{os.urandom(6).hex()}"

    def launch(self, command: str, timeout_s: float) -> Launch:
        env = {"PATH": "/usr/bin:/bin", "MARK": self.mark}
        argv = ("/bin/bash", "-c", command, self.mark)
        return Launch(argv, str(self.root), env, Confinement((str(self.root),)), timeout_s)

    def alive(self) -> list[str]:
        """What lives of it, also what has shed its mark but still stands in the room."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                    here = os.readlink(entry / "cwd") == str(self.root)
                    dead = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                except OSError:
                    continue
                if (here or self.mark.encode() in words) and not dead:
                    found.append(entry.name)
        return found


@pytest.fixture
def room(tmp_path):
    root = tmp_path / "room"
    root.mkdir()
    return Room(root)


async def outlast(room, backend, times):
    """Let so many programs run into their end, a dozen at a time; how many ended how."""
    sandbox = open_sandbox([str(room.root)], backend=backend)
    processes = SupervisedProcesses(sandbox.recipe, None)
    fates = Counter()
    limit = anyio.Semaphore(12)

    async def one(command):
        async with limit:
            ended = await processes.run(room.launch(command, timeout_s=0.3))
        fates[(ended.timed_out, ended.survivors)] += 1

    try:
        async with anyio.create_task_group() as group:
            for number in range(times):
                group.start_soon(one, list(STUBBORN.values())[number % len(STUBBORN)])
        left = room.alive()
    finally:
        await processes.aclose()
        sandbox.close()
    return fates, left


@pytest.mark.feature("E34")
@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_sixty_programs_leave_no_survivor(room, backend):
    with anyio.fail_after(120):
        fates, left = await outlast(room, backend, 60)

    assert fates == {(True, ()): 60}
    assert left == []


@pytest.mark.torture
@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_five_hundred_programs_leave_no_survivor(room, backend):
    with anyio.fail_after(600):
        fates, left = await outlast(room, backend, 500)

    assert fates == {(True, ()): 500}
    assert left == []


@pytest.mark.parametrize("kind", STUBBORN)
async def test_each_kind_of_stubborn_program_is_alive_until_its_time_is_up(room, kind):
    """Otherwise its end would show nothing."""
    sandbox = open_sandbox([str(room.root)], backend="none")
    processes = SupervisedProcesses(sandbox.recipe, None)
    try:
        # On a busy machine a short time may be up before anybody has looked.
        for timeout_s in (0.5, 2, 8, 20):
            ended, most = await watch(room, processes, STUBBORN[kind], timeout_s)
            left = room.alive()
            assert (ended.timed_out, ended.survivors, left) == (True, (), [])
            assert ended.duration_s >= timeout_s
            if most >= 2:
                break
    finally:
        await processes.aclose()
        sandbox.close()

    # The shell itself, and what it started.
    assert most >= 2


async def watch(room, processes, command, timeout_s):
    """Run a command to its end; how it ended, and how many of its processes lived at once."""
    ended = []
    most = 0

    async def run():
        ended.append(await processes.run(room.launch(command, timeout_s=timeout_s)))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            while not ended and most < 2:
                most = max(most, len(room.alive()))
                await anyio.sleep(0.01)
    return ended[0], most
