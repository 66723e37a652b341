"""Processing of untrusted bytes in a separate, confined process that can be killed."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol


class WorkerFailure(StrEnum):
    """Why a worker has no result."""

    # A package that the script imports is not installed.
    MISSING = "missing"
    # This machine cannot confine a process.
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    CRASHED = "crashed"


class WorkerTask(NamedTuple):
    """The task of a worker. `script` is a Python file that reads standard input and writes standard
    output; `modules` are the packages that it imports in addition to the standard library.
    """

    script: str
    modules: tuple[str, ...]
    arguments: tuple[str, ...]
    feed: bytes
    deadline_s: float
    max_bytes: int


class WorkerAnswer(NamedTuple):
    """The output of a worker; `failure` is None if it succeeded."""

    output: bytes
    failure: WorkerFailure | None = None


class WorkerRunner(Protocol):
    """Runs workers, which have no network, start no programs, and read only the interpreter and its
    packages.
    """

    async def __call__(self, task: WorkerTask) -> WorkerAnswer:
        """Run a worker to its end, or kill it at the deadline or when the caller is cancelled."""
