"""Prints the path of the newest released CPython on this machine that is newer than the running
one, or nothing. CI runs a selection of tests on it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

QUESTION = (
    "import ensurepip, platform, sys, venv; "
    "print(*sys.version_info[:3], sys.version_info[3], platform.python_implementation())"
)
TIMEOUT_S = 20


def candidates() -> Iterator[str]:
    """Programs that may be a Python: on the path, and those that pyenv has installed."""
    for minor in range(sys.version_info.minor + 1, 40):
        found = shutil.which(f"python3.{minor}")
        if found is not None:
            yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob("versions/*/bin/python3")))


def version(program: str) -> tuple[int, ...] | None:
    """Return the version of a released CPython that can make virtual environments; None for
    anything else.
    """
    try:
        done = subprocess.run(
            [program, "-c", QUESTION],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.split()
    if done.returncode or len(words) != 5 or words[3:] != ["final", "CPython"]:
        return None
    return tuple(map(int, words[:3]))


def newest(programs: Iterator[str], current: tuple[int, int]) -> str | None:
    """The program with the highest version above the current minor one."""
    known = {program: found for program in programs if (found := version(program))}
    later = {program: found for program, found in known.items() if found[:2] > current}
    return max(later, key=lambda program: later[program]) if later else None


if __name__ == "__main__":
    print(newest(candidates(), sys.version_info[:2]) or "", end="")
