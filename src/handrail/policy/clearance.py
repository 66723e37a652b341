"""Whether a call may happen: every guard's opinion and the mode's, the strictest wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from handrail.core.footprint import NOTHING
from handrail.core.verdicts import Effect, Risk, Verdict, strictest
from handrail.policy.modes import Mode, by_mode
from handrail.policy.protected import Guard
from handrail.policy.subject import Subject

_SAFE_READ: Final = Subject("", Risk.SAFE, NOTHING, True, None, False)


class Clearance:
    """Judges calls. A guard that fails is a bug and stops the call: it never allows.

    `holds` answers whether the sandbox holds what a command starts; it is asked only for
    commands, because finding out takes a moment.
    """

    def __init__(
        self, mode: Mode, guards: Sequence[Guard], holds: Callable[[], bool] = lambda: False
    ) -> None:
        self.mode = mode
        self._guards = tuple(guards)
        self._holds = holds
        # What every safe read is told, worked out once; None if reads must be looked at too.
        blind = all(getattr(guard, "ignores_reads", False) for guard in self._guards)
        self.free_read = by_mode(mode, _SAFE_READ) if blind else None
        if self.free_read is not None and self.free_read.effect is not Effect.ALLOW:
            self.free_read = None

    def judge(self, subject: Subject) -> Verdict:
        """One verdict on the call and, where it has one, its plan."""
        if subject.command is not None:
            subject = subject._replace(confined=self._holds())
        verdict = by_mode(self.mode, subject)
        opinions = [opinion for guard in self._guards if (opinion := guard(subject)) is not None]
        if opinions:
            verdict = strictest([*opinions, verdict])
            if verdict.effect is Effect.ASK and self.mode is Mode.DONT_ASK:
                return replace(verdict, effect=Effect.DENY)
        return verdict
