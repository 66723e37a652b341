"""Whether a call may happen: guards, then rules, then the mode; the strictest guard wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from handrail.core.footprint import NOTHING
from handrail.core.verdicts import Effect, Risk, Verdict, strictest
from handrail.policy.modes import Mode, by_mode
from handrail.policy.protected import Guard
from handrail.policy.rule_set import RuleSet
from handrail.policy.subject import Subject

_SAFE_READ: Final = Subject("", Risk.SAFE, NOTHING, True, None, False)


class Rules(Protocol):
    """What a person wrote down or granted; `ignores_reads`: none of it can stop a call that
    only reads and runs no command.
    """

    @property
    def ignores_reads(self) -> bool: ...

    def judge(self, subject: Subject) -> Verdict | None:
        """The verdict of the rules, None if none speaks of the call."""

    def foreseen(self, subject: Subject) -> tuple[str, ...]:
        """What an approved plan announced about such a call, in the model's own words."""


class Clearance:
    """Judges calls. A guard that fails is a bug and stops the call: it never allows.

    A guard's opinion stands above the rules, and a rule above the mode, which decides only
    where no rule speaks. `holds` answers whether the sandbox holds what a command starts; it
    is asked only for commands, because finding out takes a moment.
    """

    def __init__(
        self,
        mode: Mode,
        guards: Sequence[Guard],
        holds: Callable[[], bool] = lambda: False,
        rules: Rules | None = None,
    ) -> None:
        self.mode = mode
        self._guards = tuple(guards)
        self._holds = holds
        self._rules = RuleSet() if rules is None else rules
        # What every safe read is told, worked out once; None if reads must be looked at too.
        blind = self._rules.ignores_reads and all(
            getattr(guard, "ignores_reads", False) for guard in self._guards
        )
        self.free_read = by_mode(mode, _SAFE_READ) if blind else None
        if self.free_read is not None and self.free_read.effect is not Effect.ALLOW:
            self.free_read = None

    def judge(self, subject: Subject) -> Verdict:
        """One verdict on the call and, where it has one, its plan."""
        subject = self.measured(subject)
        verdict = self._by_rules_or_mode(subject)
        opinions = [opinion for guard in self._guards if (opinion := guard(subject)) is not None]
        if opinions:
            verdict = strictest([*opinions, verdict])
        if verdict.effect is not Effect.ASK:
            return verdict
        if self.mode is Mode.DONT_ASK:
            return replace(verdict, effect=Effect.DENY)
        return self._with_plan(subject, verdict)

    def measured(self, subject: Subject) -> Subject:
        """The call with whether the sandbox holds the program that it would run."""
        if subject.command is None:
            return subject
        return subject._replace(confined=self._holds())

    def _by_rules_or_mode(self, subject: Subject) -> Verdict:
        ruled = self._rules.judge(subject)
        if ruled is None:
            return by_mode(self.mode, subject)
        if self.mode is Mode.PLAN:
            # Only looking is what the session does now, not what it does for want of a rule.
            return strictest([ruled, by_mode(self.mode, subject)])
        return ruled

    def _with_plan(self, subject: Subject, verdict: Verdict) -> Verdict:
        foreseen = self._rules.foreseen(subject)
        if not foreseen:
            return verdict
        listed = ", ".join(repr(one) for one in foreseen[:5])
        hint = f"the approved plan announced, in the model's words: {listed}"
        return replace(verdict, hint=f"{verdict.hint}; {hint}" if verdict.hint else hint)
