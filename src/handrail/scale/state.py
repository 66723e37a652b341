"""The state directory of a fleet: its lock, its files, and the directory of each task."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.host.state.directories import private_directory
from handrail.host.state.identities import may_still_run, this_process
from handrail.scale import messages

_LOCK: Final = "lock"
# Workers of a fleet that was killed end within this time.
_PATIENCE_S: Final = 10.0
_PAUSE_S: Final = 0.05


class TaskPlace(NamedTuple):
    """The directory of one task, separate from its workspace."""

    directory: Path

    @property
    def workspace(self) -> Path:
        """Where the files of the source are."""
        return self.directory / "workspace"

    @property
    def store(self) -> Path:
        """The record of the task."""
        return self.directory / "record" / "store.db"

    def read(self, name: str) -> dict[str, Any] | None:
        """Return a JSON value that `write` stored; None if there is none."""
        try:
            found = json.loads((self.directory / f"{name}.json").read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def write(self, name: str, value: Mapping[str, Any]) -> None:
        """Store a JSON value; after a kill the file has the old or the new one."""
        part = self.directory / f"{name}.part"
        part.write_text(json.dumps(value), "utf-8")
        part.replace(self.directory / f"{name}.json")


class FleetState(NamedTuple):
    """The files of one fleet."""

    directory: Path

    @property
    def log(self) -> Path:
        """The output of workers."""
        return self.directory / "workers.log"

    @property
    def results(self) -> Path:
        """One JSON line per task that has ended."""
        return self.directory / "results.jsonl"

    @property
    def lock(self) -> Path:
        """Locked by the fleet that runs here; contains its process."""
        return self.directory / _LOCK

    @property
    def presences(self) -> Path:
        """The locked files of the workers that live."""
        return self.directory / "workers"

    @property
    def repositories(self) -> Path:
        """The fetched git repositories."""
        return self.directory / "git"

    def place(self, number: int) -> TaskPlace:
        """Return the directory of a task. Its name does not depend on the task's id."""
        return TaskPlace(self.directory / "tasks" / f"{number:07d}")

    def task_lock(self, number: int, workspace: str) -> Path:
        """Return the lock of a task, or that of the workspace which it shares with others."""
        if not workspace:
            return self.place(number).directory / _LOCK
        return self.directory / "locks" / sha256(workspace.encode()).hexdigest()[:16]

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Keep other fleets out; yield the handle of the lock, which workers inherit, so that the
        directory is free once all of them have ended. Raises `unavailable`.
        """
        private_directory(self.directory)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(self.lock, flags, 0o600)
        try:
            self._acquire(handle)
            os.ftruncate(handle, 0)
            os.pwrite(handle, this_process().encode(), 0)
            try:
                yield handle
            finally:
                # The process may live on without the fleet; `fleet stop` must not end it.
                os.ftruncate(handle, 0)
        finally:
            os.close(handle)

    def holder(self) -> str | None:
        """Return the process of the fleet that runs here; None if there is none."""
        try:
            process = self.lock.read_text("utf-8")
        except OSError:
            return None
        return process if process and may_still_run(process) else None

    def _acquire(self, handle: int) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # A running fleet keeps its lock for long; workers of a killed one release it soon.
                if self.holder() is not None or time.monotonic() > deadline:
                    raise messages.STATE_IN_USE.error(state=str(self.directory)) from None
                time.sleep(_PAUSE_S)
            else:
                return
