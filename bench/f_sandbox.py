"""f. The cost of confinement: a program started in each backend beside a bare start.

The warden is not in it: what is timed is the making of the recipe and the start itself.
"""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

from bench.figure import Candidate, Figure, Scale, figure, interleave
from handrail.core.processes import Confinement, Launch
from handrail.host.sandbox import trial
from handrail.host.sandbox.choose import LocalSandbox, open_sandbox

PROGRAMS = {"true": ("/bin/true",), "bash -c true": ("/bin/bash", "--norc", "-c", "true")}
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
# Bar and goal as multiples of a bare start, from what was measured when the plan was made.
LIMITS = {"landlock": (5.0, 3.0), "bubblewrap": (15.0, 10.0)}


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    (workspace / ".git").mkdir(parents=True, exist_ok=True)
    figures = []
    for backend, (bar, goal) in LIMITS.items():
        sandbox = open_sandbox([str(workspace)], backend=backend)
        try:
            for what, argv in PROGRAMS.items():
                candidates = {"limit": _bare(argv), "ours": _confined(sandbox, argv, workspace)}
                times = await interleave(candidates, rounds=max(30, scale.rounds * 4))
                name = f"{what} in {backend} / a bare start"
                figures.append(figure("f", name, times, bar=bar, goal=goal))
        finally:
            sandbox.close()
    return figures


def _bare(argv: tuple[str, ...]) -> Candidate:
    def run() -> object:
        return _on_a_thread(
            lambda: subprocess.run(argv, env=ENVIRONMENT, capture_output=True, check=True)
        )

    return run


def _confined(sandbox: LocalSandbox, argv: tuple[str, ...], workspace: Path) -> Candidate:
    confinement = Confinement((str(workspace),), read_only=(f"{workspace}/.git",))
    launch = Launch(argv, str(workspace), ENVIRONMENT, confinement, None)

    def run() -> object:
        done = trial.run(sandbox.recipe(launch), deadline_s=30)
        assert done.exit_code == 0, done
        return done

    return run


def _on_a_thread(work: object) -> object:
    """Both sides start from a thread of their own; that is not what is compared."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(work()))  # type: ignore[operator]
    thread.start()
    thread.join()
    return results[0]
