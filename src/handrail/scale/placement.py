"""Chooses the worker of a task: the one that has its workspace, else one that works for its tenant,
so that the operating system shares the cores between tenants too.
"""

from __future__ import annotations

from collections.abc import Collection


class WorkerPlacement:
    """The tasks of each worker. Tasks of one workspace run one after the other, in one worker, so
    that its locks and caches stay in one process.
    """

    def __init__(self, workers: int, room: int) -> None:
        self._room = room
        # The tasks of each worker, with their tenants.
        self._loads: list[dict[int, str]] = [{} for _ in range(workers)]
        self._count = 0
        self._alone: set[int] = set()
        # The worker of each shared workspace, and the workspaces in which a task runs.
        self._homes: dict[str, int] = {}
        self._busy: dict[str, int] = {}

    def is_full(self) -> bool:
        """Return whether no worker has room for a task."""
        return self._count >= len(self._loads) * self._room

    def choose(
        self,
        workspace: str,
        tenant: str,
        only: Collection[int] | None = None,
        *,
        alone: bool = False,
    ) -> int | None:
        """Return a worker with room among those of `only`; None if there is none, or a task runs in
        the workspace. `alone` requires a worker without tasks.
        """
        if workspace and workspace in self._busy:
            return None
        able = [
            worker
            for worker, load in enumerate(self._loads)
            if len(load) < (1 if alone else self._room)
            and self._alone.isdisjoint(load)
            and (only is None or worker in only)
        ]
        home = self._homes.get(workspace)
        if home in able:
            return home
        return min(able, key=lambda worker: self._load(worker, tenant), default=None)

    def _load(self, worker: int, tenant: str) -> tuple[int, int]:
        load = self._loads[worker].values()
        return sum(other != tenant for other in load), len(load)

    def add(
        self, worker: int, number: int, workspace: str, tenant: str, *, alone: bool = False
    ) -> None:
        """Note that a task was started."""
        self._loads[worker][number] = tenant
        self._count += 1
        if alone:
            self._alone.add(number)
        if workspace:
            self._homes[workspace] = worker
            self._busy[workspace] = number

    def remove(self, number: int) -> None:
        """Note that a task has ended."""
        for load in self._loads:
            if load.pop(number, None) is not None:
                self._count -= 1
        self._alone.discard(number)
        for workspace in [name for name, running in self._busy.items() if running == number]:
            del self._busy[workspace]
