"""p. System calls that are made for a command under Landlock, beside the command unconfined."""

from __future__ import annotations

import statistics
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from bench import tree
from bench.f_command import open_backend
from bench.figure import Candidate, Figure, NotMeasured, Row, Scale, figure, interleave
from handrail.core.ports.processes import Confinement, Launch
from handrail.host.supervisor.client import SupervisedProcesses

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
    sandboxes = {name: open_backend(workspace, name) for name in ("none", "landlock")}
    opened = {name: sandbox for name, sandbox in sandboxes.items() if sandbox is not None}
    if len(opened) < len(sandboxes):
        return [NotMeasured("p", "a mediated call", "landlock")]
    programs = {name: SupervisedProcesses(one.recipe, None) for name, one in opened.items()}
    try:
        return [
            await _per_call(programs["landlock"], workspace, scale),
            await _install(programs, workspace, scale),
            await _status(programs, workspace, scale),
        ]
    finally:
        for name, sandbox in opened.items():
            await programs[name].aclose()
            sandbox.close()


async def _per_call(programs: SupervisedProcesses, workspace: Path, scale: Scale) -> Figure:
    argv = (sys.executable, "-c", _CHMOD)
    told = [float(await _run(programs, workspace, argv)) * 1e6 for _ in range(scale.rounds)]
    taken = statistics.median(told)
    return Figure("p", "a mediated chmod", 0, taken, 0, 300, 150, "µs", absolute=True)


async def _install(
    programs: dict[str, SupervisedProcesses], workspace: Path, scale: Scale
) -> Figure:
    wheel = _wheel(workspace)
    pip = (sys.executable, "-m", "pip", "--no-cache-dir", "--disable-pip-version-check", "install")
    argv = (*pip, "-q", "--no-index", "--no-deps", "--upgrade", "--target", "installed", str(wheel))
    return await _beside(f"pip install of {_WHEEL_FILES} files", programs, workspace, argv, scale)


async def _status(
    programs: dict[str, SupervisedProcesses], workspace: Path, scale: Scale
) -> Figure:
    repository = workspace / "repository"
    files = max(scale.files, _LARGE_TREE)
    tree.grow(repository, files)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "all")):
        subprocess.run([*_GIT, *words], cwd=repository, check=True, capture_output=True)
    argv = ("/usr/bin/git", "-C", str(repository), "status", "--short")
    return await _beside(f"git status of {files:,} files", programs, workspace, argv, scale)


async def _beside(
    what: str,
    programs: dict[str, SupervisedProcesses],
    workspace: Path,
    argv: Sequence[str],
    scale: Scale,
) -> Figure:
    def candidate(name: str) -> Candidate:
        async def run() -> object:
            return await _run(programs[name], workspace, argv)

        return run

    times = await interleave(
        {"limit": candidate("none"), "ours": candidate("landlock")}, rounds=scale.rounds
    )
    return figure("p", f"{what} in landlock / unconfined", times, bar=1.3, goal=1.15)


async def _run(programs: SupervisedProcesses, workspace: Path, argv: Sequence[str]) -> str:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(workspace)}
    confinement = Confinement((str(workspace),))
    ended = await programs.run(Launch(tuple(argv), str(workspace), env, confinement, 120))
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
