"""House rule: processes start in host/processes/ and host/supervisor/, and nowhere else.

`spawn.py` starts helpers that only read, `user_program.py` the key commands of the user's own
settings, `unconfined.py` git and the workers of fleets; the supervisor starts what calls ask for.
"""

import ast

import pytest
from tests.support.sources import SOURCE, source_trees

# The supervisor, the runners that it forks, and the programs that they run.
SUPERVISOR = [
    SOURCE / "host" / "supervisor" / name
    for name in ("start.py", "runner/main.py", "runner/launch.py")
]
# Copies of a process that is one of ours already; they run no other program: the probe that races
# with itself, and the one that opens a socket in the network of a command.
COPIES = [
    SOURCE / "host" / "sandbox" / "probe" / "probe_child.py",
    SOURCE / "host" / "supervisor" / "proxy" / "connect_gate.py",
]
DOORS = [
    *COPIES,
    *(
        SOURCE / "host" / "processes" / name
        for name in ("spawn.py", "user_program.py", "unconfined.py")
    ),
    *SUPERVISOR,
]
MODULES = {"subprocess", "multiprocessing", "pty", "_posixsubprocess"}
OF_OS = (
    "fork", "forkpty", "exec", "spawn", "posix_spawn", "system", "popen", "startfile",
)  # fmt: skip
OF_ASYNCIO = ("create_subprocess", "subprocess_exec", "subprocess_shell")
OF_ANYIO = ("run_process", "open_process", "to_process")


def offences(tree: ast.Module) -> list[str]:
    """What in a module could start a process, as `line: name`."""
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [dotted(node)]
        found += [f"{node.lineno}: {name}" for name in names if starts_processes(name)]
    return found


def dotted(node: ast.expr) -> str:
    """The name of an attribute as it is written; `?` for what is computed."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def starts_processes(name: str) -> bool:
    first, _, rest = name.partition(".")
    last = name.rpartition(".")[2]
    if first in MODULES or name.startswith("concurrent.futures.Process"):
        return True
    if first in ("os", "posix"):
        return rest.startswith(OF_OS)
    if first == "anyio":
        return last in OF_ANYIO
    return last.startswith(OF_ASYNCIO) or last == "ProcessPoolExecutor"


def test_only_the_doors_start_processes():
    modules = {name: tree for name, tree in source_trees().items() if SOURCE / name not in DOORS}

    found = {name: offences(tree) for name, tree in modules.items()}

    assert len(modules) > 20
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess",
        "import subprocess as innocent",
        "from subprocess import run",
        "import multiprocessing.pool",
        "from os import execv",
        "import os\nos.posix_spawn('/bin/sh', [], {})",
        "import os\nos.system('ls')",
        "import asyncio\nasyncio.create_subprocess_exec('ls')",
        "from asyncio import create_subprocess_shell",
        "async def f(loop):\n    await loop.subprocess_exec(None, 'ls')",
        "import anyio\nanyio.run_process(['ls'])",
        "from anyio import to_process",
        "from concurrent.futures import ProcessPoolExecutor",
        "import pty",
    ],
)
def test_every_way_to_a_process_is_seen(source):
    assert offences(ast.parse(source))


@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door.parent.name}/{door.name}")
def test_the_doors_themselves_would_be_seen(door):
    assert offences(ast.parse(door.read_text("utf-8")))
