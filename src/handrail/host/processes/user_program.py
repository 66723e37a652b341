"""Runs a program that the user's own settings name, with the rights of the user."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Sequence


def run_for_user(command: Sequence[str], *, deadline_s: float, max_bytes: int) -> str:
    """Return the output of a program that runs with the user's environment and is not confined.
    Blocks. Raises OSError if the program fails or takes too long.
    """
    try:
        done = subprocess.run(
            list(command),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=deadline_s,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(errno.ETIMEDOUT, f"{command[0]} did not end") from error
    if done.returncode != 0 or len(done.stdout) > max_bytes:
        raise OSError(errno.EIO, f"{command[0]} failed with exit code {done.returncode}")
    return done.stdout.decode("utf-8", "replace")
