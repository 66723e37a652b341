"""Runs one of Handrail's Python scripts in a confined process that can read only its input."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from handrail.core.ports.workers import WorkerAnswer, WorkerFailure, WorkerTask
from handrail.host.processes import spawn


async def run_python_worker(task: WorkerTask) -> WorkerAnswer:
    """Run the script with the directories of its packages as one argument, then `arguments`."""
    if not (spawn.supported() and Path(sys.executable).name.startswith("python")):
        return WorkerAnswer(b"", WorkerFailure.UNSUPPORTED)
    folders = package_directories(task.modules)
    if folders is None:
        return WorkerAnswer(b"", WorkerFailure.MISSING)
    script = Path(task.script)
    command = [_interpreter(), "-I", "-S", str(script)]
    command += [os.pathsep.join(folders), *task.arguments]
    library = Path(sysconfig.get_path("stdlib")).parent
    here = os.open(script.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        done = await spawn.run(
            command,
            cwd_fd=here,
            read=[str(library), sysconfig.get_path("platstdlib"), str(script.parent), *folders],
            deadline_s=task.deadline_s,
            max_bytes=task.max_bytes,
            feed=task.feed,
        )
    except OSError:
        return WorkerAnswer(b"", WorkerFailure.UNSUPPORTED)
    finally:
        os.close(here)
    if done.timed_out:
        return WorkerAnswer(done.stdout, WorkerFailure.TIMEOUT)
    if done.cut:
        return WorkerAnswer(done.stdout, WorkerFailure.TOO_LARGE)
    return WorkerAnswer(done.stdout, WorkerFailure.CRASHED if done.exit_code else None)


def _interpreter() -> str:
    # Resolved: with -S the virtual environment is not used.
    return os.path.realpath(sys.executable)


@lru_cache(maxsize=64)
def package_directories(modules: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the directories from which modules are imported; None if one is not installed."""
    folders: list[str] = []
    for module in modules:
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            return None
        folders.append(str(Path(spec.origin).parent.parent))
    return tuple(dict.fromkeys(folders))
