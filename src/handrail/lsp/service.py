"""The language servers of a session: which are used, which run, and when one is started again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import anyio

from handrail.core.ports.processes import Confinement, Launch, ProcessChannel, Processes
from handrail.core.problems import ProblemRaised
from handrail.lsp import messages
from handrail.lsp.catalog import ServerCatalog, ServerProgram
from handrail.lsp.server import RunningServer, ServerLimits

# If more run, the longest unused is ended.
_MOST_RUNNING: Final = 4
# Directories that many programs share: a server need not see them as a whole.
_SHARED: Final = frozenset({"/", "/usr", "/usr/local", "/opt", "/home", "/root"})


class ServerHost(NamedTuple):
    """What servers are started with: the supervisor, the environment of commands, the roots.
    `confine` returns the confinement of a server that is started now, by its name and whether the
    user approved what cannot be hidden from it; it raises `denied` otherwise.
    """

    processes: Callable[[], Processes]
    environment: Callable[[], Mapping[str, str]]
    roots: Sequence[str]
    confine: Callable[[str, bool], Awaitable[Confinement]]


class _ServerEntry(NamedTuple):
    program: ServerProgram
    server: RunningServer
    channel: ProcessChannel
    confinement: Confinement


class SessionLanguageServers:
    """Implements `core.ports.language_servers.LanguageServers`; off if `catalog` is None."""

    def __init__(
        self, catalog: ServerCatalog | None, host: ServerHost, limits: ServerLimits
    ) -> None:
        self._catalog = catalog
        self._host = host
        self._limits = limits
        self._running: dict[str, _ServerEntry] = {}
        self._turn = anyio.Lock()

    def find_name(self, path: str) -> str:
        """The name of the server for a file. Raises `unavailable`."""
        return self._program(path).spec.name

    def find_running(self, path: str | None) -> RunningServer | None:
        """Return the running server for a file, or any."""
        if path is None:
            return next((one.server for one in self._running_servers()), None)
        running = self._running.get(self._program(path).spec.name)
        return None if running is None or running.server.connection.ended else running.server

    async def find_current(self, path: str, *, quoted: bool) -> RunningServer | None:
        """Return the running server for a file if it can read no more than one that is started now
        could, else None. `quoted`: its own text is shown, so it must not see secrets either.
        """
        running = self._running.get(self._program(path).spec.name)
        if running is None or (quoted and running.confinement.shows_secrets):
            return None
        try:
            # The user who approved the start was not asked about its text in other results.
            wanted = await self._host.confine(running.server.name, not quoted)
        except ProblemRaised:
            return None
        ended = running.server.connection.ended
        return None if ended or running.confinement != wanted else running.server

    async def open(self, path: str | None, confinement: Confinement) -> RunningServer:
        """Return the running server for a file, or any; start it again if needed. Raises
        `unavailable`, `timeout`.
        """
        program = self._find_program() if path is None else self._program(path)
        name = program.spec.name
        async with self._turn:
            running = self._running.pop(name, None)
            if running is not None:
                # It may have sent anything between the calls; if it has ended, it is closed.
                with suppress(ProblemRaised):
                    await running.server.connection.pump_waiting()
                if not running.server.connection.ended and running.confinement == confinement:
                    # The last entry is the one used last.
                    self._running[name] = running
                    return running.server
                await running.channel.close()
            while len(self._running) >= _MOST_RUNNING:
                oldest = self._running.pop(next(iter(self._running)))
                await oldest.channel.close()
            started = await self._start(program, confinement)
            self._running[name] = started
            return started.server

    def note_change(self, path: str) -> None:
        """Tell running servers about a changed file."""
        for running in self._running.values():
            running.server.note_change(path)

    def describe(self) -> list[dict[str, Any]]:
        """Every server for `doctor`."""
        if self._catalog is None:
            return []
        living = {one.server.name for one in self._running_servers()}
        return [
            {
                "name": program.spec.name,
                "path": program.path,
                "state": _state(program, living),
                "reason": program.reason,
                "files": sorted(program.spec.languages),
            }
            for program in self._catalog.all()
        ]

    async def _start(self, program: ServerProgram, confinement: Confinement) -> _ServerEntry:
        spec, path = program.spec, program.path or ""
        home = str(PurePosixPath(path).parent.parent)
        host = self._host
        readable = (path,) if _is_shared(home, host.environment().get("HOME", "/")) else (home,)
        launch = Launch(
            (path, *spec.command[1:]),
            host.roots[0],
            {**host.environment(), "XDG_CACHE_HOME": "/tmp/cache", **spec.env},  # noqa: S108 - the sandbox's own
            confinement._replace(readable=(*confinement.readable, *readable)),
            None,
        )
        channel = await host.processes().open(launch)
        server = RunningServer(spec, channel, self._limits)
        try:
            await server.initialize(host.roots)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await channel.close()
            raise
        return _ServerEntry(program, server, channel, confinement)

    def _find_program(self) -> ServerProgram:
        """The program of a server that runs."""
        for one in self._running_servers():
            return one.program
        raise messages.NONE_RUNNING.error(field="path")

    def _program(self, path: str) -> ServerProgram:
        if self._catalog is None:
            raise messages.SERVERS_OFF.error()
        program = self._catalog.for_file(path)
        if program.path is None:
            raise messages.NO_SERVER.error(path=path, reason=program.reason)
        return program

    def _running_servers(self) -> list[_ServerEntry]:
        return [one for one in self._running.values() if not one.server.connection.ended]


def _state(program: ServerProgram, living: set[str]) -> str:
    if program.path is None:
        return "not used"
    return "running" if program.spec.name in living else "available"


def _is_shared(folder: str, home: str) -> bool:
    """Return whether a directory contains more than one program's own files: the user's home, the
    directories above it and directly in it, and the system's directories.
    """
    inside = PurePosixPath(home).is_relative_to(folder)
    return folder in _SHARED or inside or str(PurePosixPath(folder).parent) == home
