"""Paths that agents reserve for themselves, and what that means for the writes of others."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from typing import Any, Final

from handrail.core.commands import CommandClass
from handrail.core.plan import Plan
from handrail.core.ports.leases import Lease, Leases
from handrail.core.ports.machine import Clock, Files
from handrail.core.problems import ProblemRaised
from handrail.core.text.globs import literal_prefix, split_glob
from handrail.core.text.safe_text import safe_text
from handrail.engine import messages
from handrail.engine.call_policy import policy_input
from handrail.engine.call_state import CallState

_SECOND_NS: Final = 1_000_000_000
_LONGEST: Final = 200


class PathLeases:
    """The reserved paths of one store, as the agents of one session see them. What is reserved
    here ends with `process`; empty: with its time. `may_still_run` tells of those of others.
    """

    def __init__(
        self,
        leases: Leases,
        files: Files,
        session: str,
        clock: Clock,
        *,
        process: str,
        may_still_run: Callable[[str], bool],
    ) -> None:
        self._process = process
        self._may_still_run = may_still_run
        self._leases = leases
        self._files = files
        self._session = session
        self._clock = clock
        self._given: dict[str, str] = {}

    async def lock(self, agent: str, globs: Sequence[str], ttl_s: float) -> dict[str, Any]:
        """Reserve paths for an agent; returns what was acquired, and what others hold for how long."""
        owner = self._owner(agent)
        absolute = {self._absolute(glob): glob for glob in globs}
        await self.others(agent)
        ttl_ns = round(ttl_s * _SECOND_NS)
        reserved = await self._leases.reserve(owner, list(absolute), ttl_ns, self._process)
        self._given.update({one.token: owner for one in reserved.acquired})
        return {
            "acquired": [
                {"glob": absolute[one.glob], "token": one.token, "fence": one.fence}
                for one in reserved.acquired
            ],
            "denied": [
                {"glob": absolute[glob], "held_by": one.owner, "for_s": self._left_s(one)}
                for glob, one in reserved.denied
            ],
        }

    async def unlock(self, agent: str, tokens: Sequence[str]) -> Sequence[str]:
        """Give back an agent's own locks; the tokens that there were."""
        released = await self._leases.release(self._owner(agent), tokens)
        for token in released:
            self._given.pop(token, None)
        return released

    async def check(self, state: CallState, plan: Plan | None) -> None:
        """Raise `conflict` if another agent has reserved a path that the call is known to write.
        For a command, all leases of others are kept in the state: it must not write them.
        """
        prepared = state.prepared
        others = await self.others(prepared.call.agent)
        if not others:
            return
        subject = policy_input(prepared, plan)
        analysis = prepared.footprint.command
        named = analysis.effects.writes if analysis is not None else ()
        for path in (*subject.written_paths(), *named):
            lease = next((one for one in others if one.covers(path.rstrip("/"))), None)
            if lease is not None:
                raise self._conflict(path, lease)
        if analysis is not None and analysis.safety_class is not CommandClass.SAFE:
            state.effects.foreign_leases = tuple(others)

    async def others(self, agent: str) -> Sequence[Lease]:
        """The leases of other owners, after releasing those of processes that have ended."""
        owner = self._owner(agent)
        found = [one for one in await self._leases.leases() if one.owner != owner]
        dead = [one for one in found if one.process and not self._may_still_run(one.process)]
        for one in dead:
            await self._leases.release(one.owner, [one.token])
        return [one for one in found if one not in dead]

    async def aclose(self) -> None:
        """Give back what was reserved here."""
        for owner in set(self._given.values()):
            mine = [token for token, one in self._given.items() if one == owner]
            await self._leases.release(owner, mine)
        self._given.clear()

    def _conflict(self, path: str, lease: Lease) -> ProblemRaised:
        shown = path.removeprefix(f"{self._files.roots[0]}/")
        who = safe_text(lease.owner, one_line=True)
        return messages.PATH_LEASED.error(shown=shown, who=who, seconds=self._left_s(lease))

    def _owner(self, agent: str) -> str:
        return f"{self._session}/{agent}"

    def _left_s(self, lease: Lease) -> int:
        return max(0, -(-(lease.until_ns - self._clock.now_ns()) // _SECOND_NS))

    def _absolute(self, glob: str) -> str:
        joined = posixpath.normpath(posixpath.join(self._files.roots[0], glob))
        if "\0" in glob or not glob.strip() or ".." in split_glob(glob) or len(glob) > _LONGEST:
            raise messages.INVALID_GLOB.error(glob=glob, field="globs")
        if not any(f"{joined}/".startswith(f"{root}/") for root in self._files.roots):
            raise messages.GLOB_OUTSIDE_WORKSPACE.error(glob=glob, field="globs")
        # By its real name: links lead the writes of others to the same place.
        fixed = literal_prefix(joined)
        return self._files.locate(fixed).absolute + joined.removeprefix(fixed)
