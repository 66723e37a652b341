"""h. Cold start: imports, `--version`, an opened runtime and one read, each in a new process.

The floor of the last two is a process that imports asyncio, sqlite3 and pydantic and builds one
model. They are compared by CPU time, user and system, which a busy machine disturbs less.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import peers
from bench.figure import Candidate, Figure, Scale, Times, figure, interleave

PYDANTIC = "from pydantic import BaseModel\nclass Params(BaseModel):\n    path: str"
HANDRAIL = "import handrail"
RESOLVED = "import handrail\nhandrail.open, handrail.tool"
PEERS = {
    peers.DEEPAGENTS: "from deepagents.middleware.filesystem import FilesystemMiddleware",
    peers.PYDANTIC_AI: "from pydantic_ai.toolsets import FunctionToolset",
}
FLOOR = f"import asyncio, sqlite3\n{PYDANTIC}\nParams(path='a.txt')"
OPENED = """import asyncio, sys
import handrail
async def main():
    async with handrail.open(sys.argv[1]):
        pass
asyncio.run(main())"""


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    rounds = max(7, scale.rounds)
    imports: dict[str, Candidate] = {"limit": _python(PYDANTIC), "ours": _python(RESOLVED)}
    imports |= {name: _python(code) for name, code in PEERS.items() if _works(code)}
    loaded = await interleave({**imports, "bare": _python(HANDRAIL)}, rounds=rounds)
    bare = {"limit": loaded["limit"], "ours": loaded.pop("bare")}

    program = str(Path(sys.executable).with_name("handrail"))
    version = await interleave(
        {"limit": _python("pass"), "ours": _command([program, "--version"])}, rounds=rounds * 2
    )
    (folder / "a.txt").write_text("one line\n", encoding="utf-8")
    cpu = measure_cpu(
        {
            "floor": [sys.executable, "-c", FLOOR],
            "open": [sys.executable, "-c", OPENED, str(folder)],
            "call": [program, "call", "read_file", "path=a.txt"],
        },
        folder,
        rounds,
    )
    opened, read = ({"limit": cpu["floor"], "ours": cpu[name]} for name in ("open", "call"))
    return [
        figure("h", "import handrail / pydantic", bare, bar=1.5, goal=1.25),
        figure("h", "import handrail, door resolved / pydantic", loaded, bar=None, goal=None),
        figure("h", "handrail --version / bare Python", version, bar=5, goal=3),
        figure(
            "h", "CPU of an opened runtime / asyncio+sqlite3+pydantic", opened, bar=1.5, goal=1.3
        ),
        figure("h", "CPU of handrail call read_file / the same", read, bar=2, goal=1.7),
    ]


def measure_cpu(commands: Mapping[str, Sequence[str]], folder: Path, rounds: int) -> Times:
    """Return the CPU seconds of each command in each round, its children included; a first round,
    which may compile modules, is not counted.
    """
    times: Times = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            spent = _cpu_seconds(command, folder)
            if turn:
                times[name].append(spent)
    return times


def _cpu_seconds(command: Sequence[str], folder: Path) -> float:
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    # A separate child, because `wait4` counts the processes that the child has waited for.
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    trouble = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} failed: {trouble.decode(errors='replace')}")
    return used.ru_utime + used.ru_stime


def _python(code: str) -> Candidate:
    return _command([sys.executable, "-c", code])


def _command(command: list[str]) -> Candidate:
    def run() -> object:
        return subprocess.run(command, capture_output=True, check=True)

    return run


def _works(code: str) -> bool:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return done.returncode == 0
