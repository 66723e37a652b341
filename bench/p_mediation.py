"""p. System calls that are made for a command under Landlock: what one costs, and real programs
beside the same programs under the same rules without such calls.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import zipfile
from collections.abc import Sequence
from pathlib import Path

from bench import tree
from bench.f_command import open_backend
from bench.figure import Figure, NotMeasured, Row, Scale, figure, interleave
from handrail.core.ports.processes import Confinement, Launch
from handrail.host.sandbox.backends.apply import restrict_thread
from handrail.host.sandbox.backends.landlock_grants import open_without_links
from handrail.host.sandbox.local_sandbox import LocalSandbox
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.client import SupervisedProcesses
from handrail.host.supervisor.runner.launch import OutputPipes, start_program
from handrail.host.supervisor.tracing.syscall_tracer import has_service

_CALLS = 2_000
_WHEEL_FILES = 200
_LARGE_TREE = 30_000
# Prints the seconds that one change of a mode took.
_CHMOD = f"""
import os, time
open("mode", "w").close()
start = time.perf_counter()
for _ in range({_CALLS}):
    os.chmod("mode", 0o644)
print((time.perf_counter() - start) / {_CALLS})
"""
_GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.org")


async def measure(folder: Path, scale: Scale) -> list[Row]:
    workspace = folder / "workspace"
    workspace.mkdir()
    sandbox = open_backend(workspace, "landlock")
    if sandbox is None:
        return [NotMeasured("p", "a mediated call", "landlock")]
    programs = SupervisedProcesses(sandbox.recipe, None)
    try:
        return [
            await _per_call(programs, workspace, scale),
            await _install(sandbox, workspace, scale),
            await _status(sandbox, workspace, scale),
        ]
    finally:
        await programs.aclose()
        sandbox.close()


async def _per_call(programs: SupervisedProcesses, workspace: Path, scale: Scale) -> Figure:
    argv = (sys.executable, "-c", _CHMOD)
    measured = [float(await _run(programs, workspace, argv)) * 1e6 for _ in range(scale.rounds)]
    taken = statistics.median(measured)
    return Figure("p", "a mediated chmod", 0, taken, 0, 300, 150, "µs", absolute=True)


async def _install(sandbox: LocalSandbox, workspace: Path, scale: Scale) -> Figure:
    wheel = _wheel(workspace)
    pip = (sys.executable, "-m", "pip", "--no-cache-dir", "--disable-pip-version-check", "install")
    argv = (*pip, "-q", "--no-index", "--no-deps", "--upgrade", "--target", "installed", str(wheel))
    what = f"pip install of {_WHEEL_FILES} files"
    return await _beside(what, sandbox, _launch(workspace, argv), scale)


async def _status(sandbox: LocalSandbox, workspace: Path, scale: Scale) -> Figure:
    repository = workspace / "repository"
    files = max(scale.files, _LARGE_TREE)
    tree.grow(repository, files)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "all")):
        subprocess.run([*_GIT, *words], cwd=repository, check=True, capture_output=True)
    argv = ("/usr/bin/git", "-C", str(repository), "status", "--short")
    what = f"git status of {files:,} files"
    return await _beside(what, sandbox, _launch(workspace, argv), scale)


async def _beside(what: str, sandbox: LocalSandbox, launch: Launch, scale: Scale) -> Figure:
    """Both under the same Landlock rules, without a supervisor: one with the service that makes
    system calls, one without.
    """
    recipe = sandbox.recipe(launch)
    assert has_service(recipe)
    times = await interleave(
        {"limit": lambda: _run_unmediated(recipe), "ours": lambda: _run_mediated(recipe)},
        rounds=scale.rounds,
    )
    return figure("p", f"{what}, mediated / unmediated", times, bar=1.3, goal=1.15)


def _run_mediated(recipe: Recipe) -> None:
    with open(os.devnull, "wb") as nowhere:
        started = start_program(recipe, OutputPipes(nowhere.fileno(), nowhere.fileno()))
        try:
            assert started.process.wait(120) == 0
        finally:
            started.release()


def _run_unmediated(recipe: Recipe) -> None:
    codes: list[int] = []

    def run() -> None:
        # Rights are dropped for good, so in a thread.
        restrict_thread(recipe, open_without_links)
        with subprocess.Popen(
            recipe.argv,
            cwd=recipe.cwd,
            env=recipe.env,
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            start_new_session=True,
        ) as process:
            codes.append(process.wait(120))

    with open(os.devnull, "r+b") as nowhere:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert codes == [0]


def _launch(workspace: Path, argv: Sequence[str]) -> Launch:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(workspace)}
    return Launch(tuple(argv), str(workspace), env, Confinement((str(workspace),)), 120)


async def _run(programs: SupervisedProcesses, workspace: Path, argv: Sequence[str]) -> str:
    ended = await programs.run(_launch(workspace, argv))
    assert ended.exit_code == 0, ended
    return ended.stdout.head.decode()


def _wheel(workspace: Path) -> Path:
    """A wheel with many small modules, written by hand."""
    path = workspace / "sample-1.0-py3-none-any.whl"
    modules = {f"sample/part{n}.py": f"value = {n}\n" * 20 for n in range(_WHEEL_FILES)}
    about = "sample-1.0.dist-info"
    files = {
        "sample/__init__.py": "",
        **modules,
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{about}/RECORD": record}.items():
            archive.writestr(name, text)
    return path
