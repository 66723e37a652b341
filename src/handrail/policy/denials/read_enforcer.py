"""Hides read-denied paths from commands, and tells the rules where the sandbox does that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.processes import Confinement, Sandbox
from handrail.core.read_denials import HiddenPaths
from handrail.policy import messages
from handrail.policy.confinement import sandbox_hides_paths


@dataclass(slots=True)
class ReadDenialEnforcer:
    """Makes the sandbox hide denied paths while a command runs."""

    # Finds the denied paths that exist now; blocks.
    find: Callable[[], HiddenPaths]
    # Could the command read a denied path if the sandbox did not hide it?
    may_affect: Callable[[CommandAnalysis], bool]
    sandbox: Sandbox
    _searched: bool = False
    # Why the paths could not all be hidden from the last command, None if they could.
    _gap: str | None = None

    def hides(self, analysis: CommandAnalysis) -> bool:
        """Whether the command will not be able to read denied paths, by what was measured here
        and seen when a command last ran. The rules rely on the answer, and `hidden_paths` makes
        it true or raises.
        """
        if not self._measured(analysis):
            return False
        if not self._searched:
            self._gap, self._searched = self.find().gap, True
        return self._gap is None

    def hidden_paths(
        self, confinement: Confinement, analysis: CommandAnalysis, *, approved: bool
    ) -> tuple[str, ...]:
        """The paths to hide from a command that runs in the confinement; blocks. Raises `denied`
        where one cannot be hidden, unless the user approved knowing this or the command does not
        read it.
        """
        measured = self._measured(analysis)
        known = not measured or self._gap is not None
        hidden = self.find()
        gap = hidden.gap or self.sandbox.unhidden(confinement._replace(withheld=hidden.paths))
        if measured:
            self._gap, self._searched = gap, True
        if gap is not None and not (approved and known) and self.may_affect(analysis):
            raise messages.READ_DENIAL_NOT_ENFORCEABLE.error(gap=gap)
        return hidden.paths

    def _measured(self, analysis: CommandAnalysis) -> bool:
        reads_only = analysis.safety_class is CommandClass.SAFE
        return sandbox_hides_paths(self.sandbox.measured, looks_only=reads_only)
