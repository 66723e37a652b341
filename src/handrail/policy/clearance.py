"""Whether a call may happen: guards, then rules, then the mode; the strictest guard wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from handrail.core.footprint import NOTHING
from handrail.core.plan_mode import ENTER, LEAVE
from handrail.core.verdicts import Effect, Risk, Verdict, strictest
from handrail.policy import messages
from handrail.policy.modes import NEVER_ASK, QUEUED, Mode, mode_verdict
from handrail.policy.policy_input import PolicyInput
from handrail.policy.protected_names import Guard
from handrail.policy.rules.rule_set import RuleSet

_ENTERING: Final = Verdict(Effect.ALLOW, "plan mode only restricts the session", "plan:enter")
_LEAVING: Final = Verdict.from_template(Effect.ASK, messages.LEAVE_PLAN_MODE, "plan:leave")
_SAFE_READ: Final = PolicyInput("", Risk.SAFE, NOTHING, True, None, False)


class SessionRules(Protocol):
    """What a person wrote down or granted; `ignores_reads`: none of it can stop a call that
    only reads and runs no command.
    """

    @property
    def ignores_reads(self) -> bool: ...

    def judge(self, subject: PolicyInput) -> Verdict | None:
        """The verdict of the rules, None if none speaks of the call."""

    def planned_prompts(self, subject: PolicyInput) -> tuple[str, ...]:
        """What an approved plan announced about such a call, in the model's own words."""


class Clearance:
    """Judges calls. A guard that fails is a bug and stops the call: it never allows.

    A guard's opinion stands above the rules, and a rule above the mode, which decides only
    where no rule speaks. `holds` answers whether the sandbox holds what a command starts; it
    is asked only for commands, because finding out takes a moment. Plan mode lies on top of
    another mode, so that going into it can never allow more.
    """

    def __init__(
        self,
        mode: Mode,
        guards: Sequence[Guard],
        holds: Callable[[], bool] = lambda: False,
        rules: SessionRules | None = None,
    ) -> None:
        # A session that was opened in plan mode asks about changes once that is over.
        self._base = Mode.DEFAULT if mode is Mode.PLAN else mode
        self._planning = mode is Mode.PLAN
        self._plan_file: str | None = None
        self._guards = tuple(guards)
        self._holds = holds
        self._rules = RuleSet() if rules is None else rules
        self.safe_read_verdict = self._free_read()

    @property
    def mode(self) -> Mode:
        """What holds now."""
        return Mode.PLAN if self._planning else self._base

    @property
    def never_asks(self) -> bool:
        """Whether what would be asked about is refused instead."""
        return self._base in NEVER_ASK

    def start_planning(self, plan_file: str) -> None:
        """Only look from now on; the plan file alone, an absolute path, may be written."""
        self._planning, self._plan_file = True, plan_file
        self.safe_read_verdict = self._free_read()

    def stop_planning(self) -> None:
        """Back to the mode below; the person's to say, never a model's."""
        self._planning = False
        self.safe_read_verdict = self._free_read()

    def judge(self, subject: PolicyInput, *, approved: bool = False) -> Verdict:
        """One verdict on the call and, where it has one, its plan. `approved`: a person has
        said yes to it before, so it is judged as if they could be asked now.
        """
        subject = self.measured(subject)
        mode = Mode.DEFAULT if approved else self._base
        planning = self._planning and not approved
        verdict = self._by_rules_or_mode(subject, mode, planning=planning)
        opinions: list[Verdict] = []
        if not (planning and self._is_plan_file(subject)):
            opinions = [one for guard in self._guards if (one := guard(subject)) is not None]
        if opinions:
            verdict = strictest([*opinions, verdict])
        if verdict.code == QUEUED:
            # A yes to many calls at once is none to a protected name.
            protected = [one for one in opinions if one.code == "protected"]
            return replace(protected[0], effect=Effect.DENY) if protected else verdict
        if verdict.effect is not Effect.ASK:
            return verdict
        if mode in NEVER_ASK:
            return replace(verdict, effect=Effect.DENY)
        return self._with_plan(subject, verdict)

    def measured(self, subject: PolicyInput) -> PolicyInput:
        """The call with whether the sandbox holds the program that it would run."""
        if subject.command is None:
            return subject
        return subject._replace(confined=self._holds())

    def _by_rules_or_mode(self, subject: PolicyInput, mode: Mode, *, planning: bool) -> Verdict:
        ruled = self._rules.judge(subject)
        if subject.tool == LEAVE:
            return strictest([ruled, _LEAVING]) if ruled is not None else _LEAVING
        if subject.tool == ENTER:
            return ruled or _ENTERING
        verdict = mode_verdict(mode, subject) if ruled is None else ruled
        if not planning:
            return verdict
        if self._is_plan_file(subject):
            return ruled or mode_verdict(mode, _SAFE_READ)
        # Only looking is what the session does now, not what it does for want of a rule.
        return strictest([verdict, mode_verdict(Mode.PLAN, subject)])

    def _is_plan_file(self, subject: PolicyInput) -> bool:
        """Whether the call edits the plan file and can touch nothing else."""
        if not subject.edits_files or subject.footprint.open_ended:
            return False
        return set(subject.written_paths()) == {self._plan_file}

    def _free_read(self) -> Verdict | None:
        """What every safe read is told, worked out once; None if reads must be looked at too."""
        blind = self._rules.ignores_reads and all(
            getattr(guard, "ignores_reads", False) for guard in self._guards
        )
        verdict = mode_verdict(self._base, _SAFE_READ)
        return verdict if blind and verdict.effect is Effect.ALLOW else None

    def _with_plan(self, subject: PolicyInput, verdict: Verdict) -> Verdict:
        foreseen = self._rules.planned_prompts(subject)
        if not foreseen:
            return verdict
        listed = ", ".join(repr(one) for one in foreseen[:5])
        hint = f"the approved plan announced, in the model's words: {listed}"
        return replace(verdict, hint=f"{verdict.hint}; {hint}" if verdict.hint else hint)
