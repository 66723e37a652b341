"""Programs through a real supervisor, and a look at what is left of them."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests.support.waiting import wait_exit

from handrail.core.ports.processes import Confinement, JobRequest, Launch
from handrail.host.processes.procfs import child_pids
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.client import SupervisedProcesses

RUNTIME = """
import os, sys
from pathlib import Path
import anyio
from handrail.core.ports.processes import Confinement, JobRequest, Launch
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.client import SupervisedProcesses

mark, state, *commands = sys.argv[1:]

def launch(command):
    env = {"PATH": "/usr/bin:/bin", "MARK": mark}
    argv = ("/bin/bash", "-c", command, mark)
    return Launch(argv, state, env, Confinement(()), None)

async def main():
    processes = SupervisedProcesses(lambda l: Recipe(l.argv, l.env, l.cwd), Path(state))
    async with anyio.create_task_group() as group:
        for command in commands:
            how, _, command = command.partition(":")
            if how == "run":
                group.start_soon(processes.run, launch(command), lambda stream, data: print("up", flush=True))
            elif how == "open":
                channel = await processes.open(launch(command))
                print(await channel.receive_until(b"\\n", 100), flush=True)
                await channel.wait_ended()
            elif how == "fork":
                # Somebody forks and goes on: the socket stays open in the other process.
                if os.fork() == 0:
                    os.execvp("sleep", ["sleep", "30"])
            else:
                job = await processes.start(launch(command), JobRequest("s", "c", command, "", how == "keep"))
                print("job", job.id, flush=True)
        if not any(command.startswith("run") for command in commands):
            await processes.aclose()

anyio.run(main)
"""

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def unconfined(launch):
    return Recipe(launch.argv, launch.env, launch.cwd)


class Programs:
    """Short ways to run and look; every program bears a mark by which it is found."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder = folder
        self.mark = mark
        self.state = folder / "state"
        self.opened = []

    def open(self, recipe_of=unconfined, **options):
        options = {"directory": self.state, "spill": self.folder / "spill", **options}
        processes = SupervisedProcesses(recipe_of, options.pop("directory"), **options)
        self.opened.append(processes)
        return processes

    def launch(self, command, *, timeout_s=20, env=None, cwd=None, **more):
        argv = ("/bin/bash", "-c", command, self.mark) if isinstance(command, str) else command
        env = {**ENVIRONMENT, "MARK": self.mark} if env is None else env
        return Launch(argv, str(cwd or self.folder), env, Confinement(()), timeout_s, **more)

    def request(self, *, keep=False):
        return JobRequest("session", "call", "the command", "what it does", keep)

    def alive(self):
        """The numbers of living processes with the mark in their arguments or environment."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                    state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
                except OSError:
                    continue
                if self.mark.encode() in text and state != b"Z":
                    found.append(int(entry.name))
        return found

    def runners(self):
        """The numbers of all runners of this process, whatever runtime they serve."""
        below, found = [os.getpid()], []
        for pid in below:
            below += child_pids(pid)
            if Path(f"/proc/{pid}/comm").read_text() == "handrail-runner\n":
                found.append(pid)
        return found

    async def until(self, condition):
        """Wait for something in another process; nothing there can tell us."""
        with anyio.fail_after(10):
            while not condition():
                await anyio.sleep(0.01)

    async def until_dead(self):
        await self.until(lambda: not self.alive())


@pytest.fixture
async def programs(tmp_path):
    folder = tmp_path / "room"
    folder.mkdir()
    programs = Programs(folder, f"mark-{os.getpid()}-{os.urandom(6).hex()}")
    yield programs
    for processes in programs.opened:
        await processes.aclose()
    await programs.until_dead()


@pytest.fixture
def processes(programs):
    return programs.open()


@pytest.fixture
def start_runtime(programs):
    """Start a runtime in a process of its own; the lines that it prints are awaited."""
    running = []

    async def start(*commands, lines):
        programs.state.mkdir(exist_ok=True)
        argv = [
            sys.executable,
            "-c",
            RUNTIME,
            f"runtime-of-{programs.mark[5:]}",
            str(programs.state),
        ]
        argv[3] = programs.mark
        process = subprocess.Popen([*argv, *commands], stdout=subprocess.PIPE)
        running.append(process)
        for _ in range(lines):
            await anyio.to_thread.run_sync(process.stdout.readline)
        return process

    yield start
    for process in running:
        process.kill()
        wait_exit(process)
        process.stdout.close()
