"""The keepers of one runtime: taken when a program is to run, given back when it is over."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio

from handrail.core.problems import ProblemRaised
from handrail.core.processes import OnOutput
from handrail.host.files.paths.root_identity import RootHandle
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.orphans import sign_for
from handrail.host.supervisor.runner_connection import Link
from handrail.host.supervisor.start import Warden
from handrail.host.supervisor.wire import Kind

_MAX_IDLE: Final = 4
_LEAVING_S: Final = 10.0


class Keepers:
    """A warden, started when first needed, and links to the keepers that it forked."""

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
        self._warden: Warden | None = None
        self._links: set[Link] = set()
        self._idle: list[Link] = []
        self._scratch: str | None = None
        self._closed = False

    def scratch(self) -> str:
        """A private directory that goes when the runtime goes, in whatever way it does."""
        if self._scratch is None:
            self._scratch = tempfile.mkdtemp(prefix="handrail-")
        return self._scratch

    async def ask(
        self,
        kind: Kind,
        recipe: Recipe,
        header: Mapping[str, Any],
        stdin: bytes = b"",
        on_output: OnOutput | None = None,
    ) -> Link:
        """Hand a request to a free keeper, or to a new one; raises `unavailable`."""
        while True:
            link = self._idle.pop() if self._idle else await self._new()
            if await link.ask(kind, recipe, header, stdin, on_output):
                return link

    def give_back(self, link: Link) -> None:
        """The keeper has answered and is free, or else is not wanted any more."""
        usable = link.answer is not None and not link.closed and not self._closed
        if usable and len(self._idle) < _MAX_IDLE:
            self._idle.append(link)
        else:
            link.close()

    def lost(self) -> ProblemRaised:
        """What to say when a keeper went without an answer."""
        words = "" if self._warden is None else self._warden.last_words()
        return ProblemRaised(
            "unavailable",
            "the helper process that watched over the program was ended, and the program with it"
            + (f"; it said: {words}" if words else ""),
            hint="see what the program has done so far before it is run again",
        )

    async def aclose(self, *, kept: bool) -> None:
        """End all programs but kept jobs, then the helper processes."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            links = list(self._links)
            for link in links:
                link.leave()
            with anyio.move_on_after(_LEAVING_S):
                for link in links:
                    await link.wait_closed()
            for link in links:
                link.abandon()
            if self._warden is not None:
                warden, self._warden = self._warden, None
                await warden.aclose(wait=not kept)
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    async def _new(self) -> Link:
        # A second try with a new warden, should the first have been killed meanwhile.
        for _ in range(2):
            if self._closed:
                raise ProblemRaised("unavailable", "the runtime is closed: nothing can be started")
            if self._warden is None:
                scratch = self.scratch() if self._needs_scratch else ""
                sign = self._sign()
                self._warden = Warden(
                    memory_mb=self._memory_mb, scratch=scratch, sign=sign, roots=self._roots
                )
            warden = self._warden
            link = Link(warden.keeper(), self._forget)
            self._links.add(link)
            if await link.wait_hello():
                return link
            problem = self.lost()
            if self._warden is warden:
                self._warden = None
                warden.discard()
        raise problem

    def _sign(self) -> str:
        if self._directory is None:
            return ""
        try:
            return str(sign_for(self._directory))
        except OSError as error:
            raise ProblemRaised(
                "unavailable", f"no program can be announced in {error.filename}: {error.strerror}"
            ) from error

    def _forget(self, link: Link) -> None:
        self._links.discard(link)
        if link in self._idle:
            self._idle.remove(link)
