"""A server of a session: it is started by the first call that needs it, and again after a failure, with
growing pauses.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.core.context import ToolContext
from handrail.core.lazy import Lazy
from handrail.core.ports.media import MediaReader
from handrail.core.ports.questions import QuestionAsker
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.mcp.client import messages
from handrail.mcp.client.manifest import (
    OTHER_PROGRAM,
    ServerManifest,
    describe_differences,
    find_obstacle,
)
from handrail.mcp.client.server_spec import RemoteServerHost, RemoteServerSpec

if TYPE_CHECKING:
    from handrail.mcp.client.connection import RemoteConnection

# The pause after the second failure; it doubles with each further failure.
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 300.0
# Decoding of pictures may take the rest of a call's time, and at least this long.
_PICTURES_S: Final = 5.0


class ResultServices(NamedTuple):
    """The services for results and questions: `quote` marks lines that imitate Handrail's own, `media`
    decodes pictures (None: pictures are left out), `questions` passes the questions of servers to the user
    (None: no user can be asked).
    """

    quote: Callable[[str], str]
    media: Lazy[MediaReader] | None
    questions: QuestionAsker | None = None


class RemoteServer:
    """One server of a session. Only tools of the manifest `approved` can be called."""

    def __init__(
        self,
        spec: RemoteServerSpec,
        host: RemoteServerHost,
        approved: ServerManifest,
        results: ResultServices,
    ) -> None:
        self.spec = spec
        self.approved = approved
        self._host = host
        self._results = results
        self._names = frozenset(
            tool.name
            for tool in approved.tools
            if find_obstacle(spec.name, tool, spec.allow) is None
        )
        self._connection: RemoteConnection | None = None
        self._turn = asyncio.Lock()
        self._failures = 0
        self._not_before = 0.0

    @property
    def state(self) -> str:
        """Whether the server is running: "started" or "known"."""
        running = self._connection is not None and not self._connection.ended
        return "started" if running else "known"

    async def call(self, tool: str, arguments: Mapping[str, Any], ctx: ToolContext) -> Output:
        """Call a tool; starts the server if it is not running. Raises `not_found` for a tool that is not
        approved, `unavailable`, `timeout`, `command_failed`, and `untrusted` if the server's tools differ
        from the approved ones.
        """
        if tool not in self._names:
            raise messages.NOT_APPROVED.error(server=self.spec.name, tool=tool[:200])
        from handrail.mcp.client.results import read_result

        connection = await self._connect()
        limit, begun = self.spec.call_s, time.monotonic()
        questions = self._results.questions
        result, declined = await connection.call(tool, arguments, ctx, questions)
        self._failures = 0
        # The limit was paused while the user was asked, so the rest may be negative.
        remaining_s = max(limit - (time.monotonic() - begun), min(limit, _PICTURES_S))
        output = await read_result(result, self.spec.name, tool, self._results, remaining_s)
        notes = [
            f"[handrail: a question of the server was declined: {reason}]" for reason in declined
        ]
        return output._replace(text="\n".join([output.text, *notes]))

    async def close(self) -> None:
        """End the server."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _connect(self) -> RemoteConnection:
        async with self._turn:
            connection = self._connection
            if connection is not None and not connection.ended:
                if connection.list_changed:
                    self._compare(connection, await connection.list_again())
                return connection
            self._connection = None
            if connection is not None:
                self._count_failure()
                await connection.close()
            pause = self._not_before - time.monotonic()
            if pause > 0:
                raise messages.WAITING.error(
                    server=self.spec.name, failures=self._failures, seconds=pause
                )
            return await self._start()

    async def _start(self) -> RemoteConnection:
        from handrail.mcp.client.connection import RemoteConnection

        connection = RemoteConnection(self.spec, self._host)
        try:
            manifest = await connection.open(self.approved.fingerprint)
        except ProblemRaised as raised:
            if raised.problem.code != "untrusted":
                self._count_failure()
            else:
                self._host.note_change(self.spec, OTHER_PROGRAM)
            raise
        try:
            self._compare(connection, manifest)
        except ProblemRaised:
            await connection.close()
            raise
        self._connection = connection
        return connection

    def _compare(self, connection: RemoteConnection, manifest: ServerManifest) -> None:
        """Raise `untrusted` if the server's tools differ from the approved ones. The server keeps running,
        because it may offer the approved tools again later.
        """
        differences = describe_differences(self.approved, manifest)
        self._host.note_change(self.spec, differences)
        if differences:
            connection.list_changed = True
            raise messages.CHANGED.error(server=self.spec.name, differences=differences)

    def _count_failure(self) -> None:
        self._failures += 1
        if self._failures > 1:
            pause = min(_PAUSE_S * 2 ** (self._failures - 2), _LONGEST_PAUSE_S)
            self._not_before = time.monotonic() + pause
