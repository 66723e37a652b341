"""Whether a call may happen: every guard's opinion and the mode's, the strictest wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.core.verdicts import Effect, Verdict, strictest
from handrail.policy.modes import Mode, by_mode
from handrail.policy.protected import Guard
from handrail.policy.subject import Subject


class Clearance:
    """Judges calls. A guard that fails is a bug and stops the call: it never allows."""

    def __init__(self, mode: Mode, guards: Sequence[Guard]) -> None:
        self.mode = mode
        self.guards: list[Guard] = list(guards)

    def judge(self, subject: Subject) -> Verdict:
        """One verdict on the call and, where it has one, its plan."""
        verdict = by_mode(self.mode, subject)
        opinions = [opinion for guard in self.guards if (opinion := guard(subject)) is not None]
        if opinions:
            verdict = strictest([*opinions, verdict])
            if verdict.effect is Effect.ASK and self.mode is Mode.DONT_ASK:
                return replace(verdict, effect=Effect.DENY)
        return verdict
