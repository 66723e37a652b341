"""Running a program for a call: what it may reach follows from the verdict, and protected
names are as they were when it has ended, however it ended.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from handrail.core.commands import CommandClass, Judgement
from handrail.core.context import ToolContext
from handrail.core.problems import Problem
from handrail.core.processes import Confinement, Guarded, Repaired, Sandbox
from handrail.core.results import Status
from handrail.engine.running import Outcome, Running, of_output
from handrail.engine.threads import to_the_end

_log = logging.getLogger("handrail")


@dataclass(slots=True)
class CommandRunner:
    """Runs the programs of one session.

    `lifted` are globs of protected names that the person allows; `own` and `hidden` are
    Handrail's places: never written, and never seen.
    """

    roots: tuple[str, ...]
    sandbox: Sandbox
    guarded: Guarded
    lifted: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False
    # How the protected names were when the last job that can write was started.
    _watched: list[Any] = field(default_factory=list)

    def describe(self, judged: Judgement) -> dict[str, Any]:
        """For the record of a call that is about to run: what will hold the program."""
        backend = "none" if judged.unconfined else self.sandbox.backend
        held = {} if judged.unconfined else {**self.sandbox.measured}
        return {
            "class": judged.klass.word,
            "effects": judged.effects.to_dict(),
            "sandbox": {"backend": backend, "measured": held},
        }

    async def run(self, running: Running, context: ToolContext) -> Outcome:
        """Run the call's tool with the confinement that its verdict allows."""
        prepared, judged = running.prepared, running.prepared.footprint.command
        if judged is None:
            raise ValueError(f"{prepared.name} runs no command")
        if judged.klass is CommandClass.SAFE and not judged.unconfined:
            # It only looks, and here nothing else is possible.
            context.confinement = self._confinement((), (), network=False)
            return of_output(await prepared.tool.run(prepared.args, context))
        await self.mend_jobs(running)
        snapshot = await self._take(judged)
        context.confinement = self._for(judged, snapshot, approved=running.approved is not None)
        repaired: list[Repaired] = []
        try:
            output = await prepared.tool.run(prepared.args, context)
        finally:
            await to_the_end(lambda: repaired.extend(self.guarded.repair(snapshot)))
            _warn(prepared.name, repaired)
        if isinstance(output.data, dict) and "job" in output.data:
            self._watched.append(snapshot)
        outcome = of_output(output)
        outcome.meta = {**outcome.meta, "sandbox": self.sandbox.backend}
        return _tampered(outcome, repaired) if repaired else outcome

    async def mend_jobs(self, running: Running | None = None) -> Sequence[Repaired]:
        """Put back what background jobs have changed of the protected names meanwhile."""
        repaired: list[Repaired] = []
        watched, self._watched = self._watched, []
        for snapshot in watched:
            await to_the_end(lambda one=snapshot: repaired.extend(self.guarded.repair(one)))  # type: ignore[misc]
        self._watched = watched
        if repaired and running is not None:
            running.remarks.append(f"a background job changed protected names: {_listed(repaired)}")
        _warn("a background job", repaired)
        return repaired

    def forget_jobs(self) -> None:
        """Protected names were changed with a person's permission: what jobs found is stale."""
        self._watched.clear()

    async def _take(self, judged: Judgement) -> Any:
        taken: list[Any] = []
        await to_the_end(
            lambda: taken.append(
                self.guarded.take(lifted=self.lifted, git_writable=judged.effects.git)
            )
        )
        return taken[0]

    def _for(self, judged: Judgement, snapshot: Any, *, approved: bool) -> Confinement:
        if judged.unconfined:
            return Confinement(self.roots, network=True, off=True)
        # A person who said yes to a command saw which hosts it names.
        network = self.network or (approved and bool(judged.effects.hosts))
        return self._confinement(self.roots, self.guarded.read_only(snapshot), network=network)

    def _confinement(
        self, writable: tuple[str, ...], read_only: tuple[str, ...], *, network: bool
    ) -> Confinement:
        return Confinement(writable, (*read_only, *self.own), self.hidden, network)


def _tampered(outcome: Outcome, repaired: Sequence[Repaired]) -> Outcome:
    listed = _listed(repaired)
    problem = Problem(
        "tampered",
        f"the command changed protected names, which were put back: {listed}",
        hint="a person may allow them with allow_protected, or approve a command that names them",
    )
    outcome.status, outcome.problem = Status.FAILED, problem
    outcome.text = f"{outcome.text}\n[handrail: {problem.message}]"
    outcome.meta = {**outcome.meta, "repaired": [one._asdict() for one in repaired]}
    return outcome


def _listed(repaired: Sequence[Repaired]) -> str:
    return ", ".join(f"{one.path} ({one.what})" for one in repaired[:10])


def _warn(who: str, repaired: Sequence[Repaired]) -> None:
    if repaired:
        _log.warning("%s changed protected names, put back: %s", who, _listed(repaired))
