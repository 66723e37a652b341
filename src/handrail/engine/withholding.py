"""Keeps from commands what no call may read, and says to the rules where that holds.

The rules believe `sandbox_hides_paths`; whoever runs a command makes it true with `paths`, or nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.problems import ProblemRaised
from handrail.core.processes import Confinement, Sandbox
from handrail.core.read_denials import HiddenPaths
from handrail.engine.timing.threads import run_in_thread_uncancellable
from handrail.policy.confinement import sandbox_hides_paths


@dataclass(slots=True)
class ReadDenialEnforcer:
    """`find` tells which withheld paths exist now, and blocks; `minds` whether a command may
    read one of them if none were hidden.
    """

    find: Callable[[], HiddenPaths]
    may_affect: Callable[[CommandAnalysis], bool]
    sandbox: Sandbox
    _looked: bool = False
    _gap: str | None = None

    def hides(self, analysis: CommandAnalysis) -> bool:
        """Whether the command will not be able to read what is withheld, as measured here and
        as far as was seen when a command last ran.
        """
        if not self._measured(analysis):
            return False
        if not self._looked:
            self._gap, self._looked = self.find().gap, True
        return self._gap is None

    async def paths(
        self, confinement: Confinement, analysis: CommandAnalysis, *, approved: bool
    ) -> tuple[str, ...]:
        """What must be hidden from a command that is confined so. Raises `denied` where that
        cannot be done, unless a person who knew of it said yes or the command reads nothing of it.
        """
        found: list[HiddenPaths] = []

        def look() -> None:
            hidden = self.find()
            wanted = confinement._replace(withheld=hidden.paths)
            found.append(hidden._replace(gap=hidden.gap or self.sandbox.unhidden(wanted)))

        measured = self._measured(analysis)
        known = not measured or self._gap is not None
        await run_in_thread_uncancellable(look)
        gap = found[0].gap
        if measured:
            self._gap, self._looked = gap, True
        if gap is not None and not (approved and known) and self.may_affect(analysis):
            raise ProblemRaised(
                "denied",
                f"what rules withhold cannot be hidden from the command: {gap}",
                hint="call it again, and a person is asked; or name files and programs plainly",
            )
        return found[0].paths

    def _measured(self, analysis: CommandAnalysis) -> bool:
        return sandbox_hides_paths(
            self.sandbox.measured, looks_only=analysis.safety_class is CommandClass.SAFE
        )
