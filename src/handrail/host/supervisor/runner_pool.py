"""The runners of one runtime: acquired for a program, released afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio

from handrail.core.ports.processes import OnOutput
from handrail.core.problems import ProblemRaised
from handrail.host.files.root_identity import RootHandle
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.messages import LOCK_NOT_CREATED, RUNNER_LOST, RUNTIME_CLOSED
from handrail.host.supervisor.orphans import runtime_lock_path
from handrail.host.supervisor.runner_connection import RunnerConnection
from handrail.host.supervisor.start import Supervisor
from handrail.host.supervisor.wire import FrameKind

_MAX_IDLE: Final = 4
_LEAVING_S: Final = 10.0


class RunnerPool:
    """A supervisor, started when first needed, and connections to the runners it forked."""

    def __init__(
        self,
        *,
        memory_mb: int,
        needs_scratch: bool,
        directory: Path | None,
        roots: Sequence[RootHandle] = (),
    ) -> None:
        self._roots = tuple(roots)
        self._memory_mb = memory_mb
        self._needs_scratch = needs_scratch
        self._directory = directory
        self._supervisor: Supervisor | None = None
        self._connections: set[RunnerConnection] = set()
        self._idle: list[RunnerConnection] = []
        self._scratch: str | None = None
        self._closed = False

    def scratch(self) -> str:
        """A private directory that is removed when the runtime ends, in whatever way."""
        if self._scratch is None:
            self._scratch = tempfile.mkdtemp(prefix="handrail-")
        return self._scratch

    async def ask(
        self,
        kind: FrameKind,
        recipe: Recipe,
        header: Mapping[str, Any],
        stdin: bytes = b"",
        on_output: OnOutput | None = None,
    ) -> RunnerConnection:
        """Send a request to an idle runner or a new one. Raises `unavailable`."""
        while True:
            connection = self._idle.pop() if self._idle else await self._new()
            if await connection.ask(kind, recipe, header, stdin, on_output):
                return connection

    def give_back(self, connection: RunnerConnection) -> None:
        """Keep an answered runner for the next request, or close its connection."""
        usable = connection.answer is not None and not connection.closed and not self._closed
        if usable and len(self._idle) < _MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def lost(self) -> ProblemRaised:
        """The problem of a runner that ended without an answer."""
        words = "" if self._supervisor is None else self._supervisor.last_words()
        return RUNNER_LOST.error(details=f"; its last output: {words}" if words else "")

    async def aclose(self, *, kept: bool) -> None:
        """End all programs except kept jobs, then the helper processes."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            connections = list(self._connections)
            for connection in connections:
                connection.leave()
            with anyio.move_on_after(_LEAVING_S):
                for connection in connections:
                    await connection.wait_closed()
            for connection in connections:
                connection.abandon()
            if self._supervisor is not None:
                supervisor, self._supervisor = self._supervisor, None
                await supervisor.aclose(wait=not kept)
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    async def _new(self) -> RunnerConnection:
        # Try again with a new supervisor if the first was killed meanwhile.
        for _ in range(2):
            if self._closed:
                raise RUNTIME_CLOSED.error()
            if self._supervisor is None:
                scratch = self.scratch() if self._needs_scratch else ""
                sign = self._sign()
                self._supervisor = Supervisor(
                    memory_mb=self._memory_mb, scratch=scratch, sign=sign, roots=self._roots
                )
            supervisor = self._supervisor
            connection = RunnerConnection(supervisor.runner(), self._forget)
            self._connections.add(connection)
            if await connection.wait_hello():
                return connection
            problem = self.lost()
            if self._supervisor is supervisor:
                self._supervisor = None
                supervisor.discard()
        raise problem

    def _sign(self) -> str:
        if self._directory is None:
            return ""
        try:
            return str(runtime_lock_path(self._directory))
        except OSError as error:
            raise LOCK_NOT_CREATED.error(path=error.filename, reason=error.strerror) from error

    def _forget(self, connection: RunnerConnection) -> None:
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
