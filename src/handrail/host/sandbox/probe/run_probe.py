"""Runs a recipe once while the caller waits; for the probe, not for commands."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.runner.launch import OutputPipes, StartedProgram, start_program

_MAX_BYTES: Final = 1 << 20


class ProbeOutput(NamedTuple):
    """The result of a probe program; `exit_code` is None if it exceeded its time."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes


def run_probe_program(recipe: Recipe, *, deadline_s: float) -> ProbeOutput:
    """Run a program to its end or deadline; raises OSError if it cannot start."""
    # Files, because pipes would have to be drained.
    stdout, stderr = _memory(), _memory()
    try:
        with start_probe_program(recipe, OutputPipes(stdout, stderr)) as started:
            code = _wait(started, deadline_s)
        return ProbeOutput(code, _content(stdout), _content(stderr))
    finally:
        os.close(stdout)
        os.close(stderr)


@contextmanager
def start_probe_program(recipe: Recipe, outputs: OutputPipes) -> Iterator[StartedProgram]:
    """Run a program during the `with` block; its process group is killed at the end."""
    started = start_program(recipe, outputs)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            os.killpg(started.process.pid, signal.SIGKILL)
            started.process.wait()
        started.release()


def _wait(started: StartedProgram, deadline_s: float) -> int | None:
    end = os.pidfd_open(started.process.pid)
    try:
        ready, _, _ = select.select([end], [], [], deadline_s)
    finally:
        os.close(end)
    return started.process.wait() if ready else None


def _memory() -> int:
    return os.memfd_create("handrail-trial", os.MFD_CLOEXEC)


def _content(handle: int) -> bytes:
    return os.pread(handle, _MAX_BYTES, 0)
