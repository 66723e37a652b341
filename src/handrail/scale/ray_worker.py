"""A worker of a fleet as a Ray actor: one process that hosts many workspaces in one event loop."""

from __future__ import annotations

import fcntl
import logging
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handrail import __version__
from handrail.core.problems import ProblemRaised
from handrail.scale import messages
from handrail.scale.state import FleetState
from handrail.scale.task_runner import FleetTaskRunner, WorkerSettings


class RayWorker:
    """Runs the orders of one actor. `fleet` is the process that holds the state directory."""

    def __init__(self, settings: Mapping[str, Any], fleet: str, version: str) -> None:
        self._problem: str | None = None
        worker_settings = WorkerSettings.from_dict(settings)
        state = FleetState(Path(worker_settings.state))
        try:
            _check_machine(state, fleet, version)
            logging.basicConfig(filename=state.log, level=logging.WARNING)
            self._runner = FleetTaskRunner(worker_settings)
        except (ProblemRaised, OSError) as error:
            self._problem = str(error)

    async def ready(self) -> str | None:
        """Return None once the worker works, else why not. No answer: its loop is stuck."""
        return self._problem

    async def run(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a task."""
        return await self._runner.run(order)


def _check_machine(state: FleetState, fleet: str, version: str) -> None:
    """Raise `unavailable` where a task could not be continued, or could run twice."""
    host = socket.gethostname()
    if version != __version__:
        raise messages.OTHER_VERSION.error(host=host, found=__version__, wanted=version)
    where = {"host": host, "state": str(state.directory)}
    try:
        handle = os.open(state.lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise messages.STATE_NOT_SHARED.error(**where, reason=error.strerror) from error
    try:
        if os.pread(handle, 4096, 0).decode("utf-8", "replace") != fleet:
            raise messages.STATE_NOT_SHARED.error(**where, reason="it is that of another fleet")
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        # The fleet holds the lock, and this machine sees that.
        return
    finally:
        os.close(handle)
    raise messages.STATE_NOT_SHARED.error(**where, reason="locks of other machines do not count")
