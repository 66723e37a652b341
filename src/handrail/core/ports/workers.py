"""Work on untrusted bytes in a process of its own, which can do nothing else and may be killed."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol


class WorkerFailure(StrEnum):
    """Why there is no answer."""

    # A package that the script imports is not installed.
    MISSING = "missing"
    # This machine cannot confine a process.
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    CRASHED = "crashed"


class WorkerTask(NamedTuple):
    """What a worker does. `script` is a Python file that reads its standard input and writes its
    standard output; `modules` are the packages that it imports beside the standard library.
    """

    script: str
    modules: tuple[str, ...]
    arguments: tuple[str, ...]
    feed: bytes
    deadline_s: float
    max_bytes: int


class WorkerAnswer(NamedTuple):
    """What a worker wrote; `failure` None: it ended as it should."""

    output: bytes
    failure: WorkerFailure | None = None


class WorkerRunner(Protocol):
    """Runs workers: no files but the interpreter and its packages, no network, no programs."""

    async def __call__(self, task: WorkerTask) -> WorkerAnswer:
        """Run a worker to its end, or kill it at the deadline or when the caller is cancelled."""
