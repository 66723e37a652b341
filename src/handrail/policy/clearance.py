"""The verdict on a call: guards, then rules, then the mode; the strictest guard wins.

A mode never overrides a DENY; it decides between allowing, asking and refusing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, Protocol

from handrail.core.footprint import NOTHING
from handrail.core.names.caller_words import tool_name
from handrail.core.ports.plan_mode import ENTER, LEAVE
from handrail.core.verdicts import Effect, Risk, Verdict, strictest
from handrail.policy import messages
from handrail.policy.confinement import REQUIRED_FOR_AUTO_RUN, describe_gap
from handrail.policy.modes import NEVER_ASK, QUEUED, Mode
from handrail.policy.policy_input import PolicyInput
from handrail.policy.protected_names import Guard
from handrail.policy.rules.rule import MCP_PREFIX
from handrail.policy.rules.rule_set import RuleSet

_ENTERING: Final = Verdict(Effect.ALLOW, "plan mode only restricts the session", "plan:enter")
_LEAVING: Final = Verdict.from_template(Effect.ASK, messages.LEAVE_PLAN_MODE, "plan:leave")
_AGENT_ONLY_READS: Final = Verdict(
    Effect.DENY, "the agent is in plan mode, which is read-only", f"mode:{Mode.PLAN}"
)
_SAFE_READ: Final = PolicyInput("", Risk.SAFE, NOTHING, True, None, False)


class SessionRules(Protocol):
    """The rules and grants of a session. `empty`: there are none. `ignores_reads`: no rule concerns a
    call that only reads and runs no command.
    """

    empty: bool

    @property
    def ignores_reads(self) -> bool: ...

    def judge(self, subject: PolicyInput) -> Verdict | None:
        """The verdict of the rules, None if no rule matches the call."""

    def planned_prompts(self, subject: PolicyInput) -> tuple[str, ...]:
        """What an approved plan announced about the call, in the model's words."""


class DeferredGuards:
    """The guards over commands as one guard; they are built when the first command is judged."""

    ignores_reads: Final = True
    only_commands: Final = True

    def __init__(self, build: Callable[[], Sequence[Guard]]) -> None:
        self._build = build
        self._guards: Sequence[Guard] | None = None

    def __call__(self, subject: PolicyInput) -> Verdict | None:
        """The strictest verdict of the guards; None for a call that runs no command."""
        if subject.footprint.command is None:
            return None
        if self._guards is None:
            self._guards = self._build()
        verdicts = [verdict for guard in self._guards if (verdict := guard(subject))]
        return strictest(verdicts) if verdicts else None


class Clearance:
    """Evaluates calls. A guard that raises is a defect, and the call does not run.

    The strictest of the guards and the rules decides; a rule overrides the mode. `unenforced` returns the
    properties that the sandbox lacks for confining commands; it is called only for commands, because the
    measurement takes time. Plan mode is added to another mode, so entering plan mode never allows more.
    """

    def __init__(
        self,
        mode: Mode,
        guards: Sequence[Guard],
        unenforced: Callable[[], tuple[str, ...]] = lambda: REQUIRED_FOR_AUTO_RUN,
        rules: SessionRules | None = None,
    ) -> None:
        # A session that was opened in plan mode continues in the default mode after planning.
        self._base = Mode.DEFAULT if mode is Mode.PLAN else mode
        self._planning = mode is Mode.PLAN
        self._plan_file: str | None = None
        self._guards = tuple(guards)
        # The guards that may concern a call, by its properties (see `_may_concern`).
        self._concerned = {
            does: tuple(guard for guard in guards if _may_concern(guard, *does))
            for does in product((False, True), repeat=3)
        }
        self._unenforced = unenforced
        self._rules = RuleSet() if rules is None else rules
        self.safe_read_verdict = self._free_read()

    @property
    def mode(self) -> Mode:
        """The current mode."""
        return Mode.PLAN if self._planning else self._base

    @property
    def never_asks(self) -> bool:
        """Whether calls that would need approval are refused."""
        return self._base in NEVER_ASK

    def start_planning(self, plan_file: str) -> None:
        """Enter plan mode: only the plan file, an absolute path, may be written."""
        self._planning, self._plan_file = True, plan_file
        self.safe_read_verdict = self._free_read()

    def stop_planning(self) -> None:
        """Leave plan mode; only a user may do this, never a model."""
        self._planning = False
        self.safe_read_verdict = self._free_read()

    def judge(self, subject: PolicyInput, *, approved: bool = False) -> Verdict:
        """The verdict on a call and, if there is one, its plan. `approved`: the user approved the
        call before, so it is evaluated as in a mode that can ask.
        """
        command = subject.footprint.command
        if command is not None:
            subject = self.measured(subject)
        mode = Mode.DEFAULT if approved else self._base
        planning = self._planning and not approved
        verdict = self._by_rules_or_mode(subject, mode, planning=planning)
        opinions: list[Verdict] = []
        if not (planning and self._is_plan_file(subject)):
            does = command is not None, subject.reads_only, subject.deletes
            for guard in self._concerned[does]:
                opinion = guard(subject)
                if opinion is not None:
                    opinions.append(opinion)
        if opinions:
            verdict = strictest([*opinions, verdict])
        if verdict.code == QUEUED:
            # Queued calls are approved together, which must not approve a write to a protected name.
            protected = [one for one in opinions if one.code == "protected"]
            return replace(protected[0], effect=Effect.DENY) if protected else verdict
        if verdict.effect is not Effect.ASK:
            return verdict
        if mode in NEVER_ASK:
            return replace(verdict, effect=Effect.DENY)
        return self._with_plan(subject, verdict)

    def narrow(self, verdict: Verdict, subject: PolicyInput, modes: Sequence[Mode]) -> Verdict:
        """The verdict on a call of an agent with its own modes; they can only make it stricter."""
        subject = self.measured(subject)
        for mode in modes:
            if mode is Mode.PLAN:
                if mode_verdict(mode, subject).effect is Effect.DENY:
                    verdict = strictest([verdict, _AGENT_ONLY_READS])
            elif verdict.rule.startswith("mode:"):
                verdict = strictest([verdict, mode_verdict(mode, subject)])
            if mode in NEVER_ASK and verdict.effect is Effect.ASK:
                verdict = replace(verdict, effect=Effect.DENY)
        return verdict

    def measured(self, subject: PolicyInput) -> PolicyInput:
        """The input of a command, with whether the sandbox confines the command."""
        if subject.footprint.command is None:
            return subject
        unenforced = self._unenforced()
        return subject._replace(confined=not unenforced, unenforced=unenforced)

    def _by_rules_or_mode(self, subject: PolicyInput, mode: Mode, *, planning: bool) -> Verdict:
        ruled = None if self._rules.empty else self._rules.judge(subject)
        if subject.tool == LEAVE:
            return strictest([ruled, _LEAVING]) if ruled is not None else _LEAVING
        if subject.tool == ENTER:
            return ruled or _ENTERING
        verdict = mode_verdict(mode, subject) if ruled is None else ruled
        if not planning:
            return verdict
        if self._is_plan_file(subject):
            return ruled or mode_verdict(mode, _SAFE_READ)
        if subject.reads_only and subject.command is None:
            # Reading a web page cannot be queued: the user is asked as in the underlying mode.
            return verdict
        # An allow rule does not override plan mode.
        return strictest([verdict, mode_verdict(Mode.PLAN, subject)])

    def _is_plan_file(self, subject: PolicyInput) -> bool:
        """Whether the call edits the plan file and can touch nothing else."""
        if not subject.edits_files or subject.footprint.open_ended:
            return False
        return set(subject.written_paths()) == {self._plan_file}

    def _free_read(self) -> Verdict | None:
        """The verdict that applies to every safe read; None if reads must be evaluated one by one."""
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
        hint = messages.ANNOUNCED_BY_PLAN.format(prompts=listed)
        return replace(verdict, hint=f"{verdict.hint}; {hint}" if verdict.hint else hint)


def _may_concern(guard: Guard, command: bool, reads_only: bool, deletes: bool) -> bool:
    """Whether a guard may concern calls with these properties, by its attributes; a guard without
    attributes is called for every call.
    """
    if getattr(guard, "only_commands", False) and not command:
        return False
    if getattr(guard, "only_deletions", False) and not (command or deletes):
        return False
    return not (getattr(guard, "only_writes", False) and reads_only)


def mode_verdict(mode: Mode, subject: PolicyInput) -> Verdict:
    """The verdict of the mode on a call."""
    if mode is Mode.CONFIRM_ALL:
        reason = "this mode asks before every call"
        return Verdict(Effect.ASK, reason, f"mode:{mode}", hint=_suggest_mode(subject))
    if _runs_without_asking(mode, subject):
        return _ALLOWED[mode]
    if mode is Mode.PLAN:
        return Verdict(
            Effect.DENY,
            "plan mode is read-only",
            f"mode:{mode}",
            QUEUED,
            hint=_suggest_mode(subject, asks=False),
        )
    hint = messages.SANDBOX_REMEDIES if _lacks_sandbox(mode, subject) else _suggest_mode(subject)
    if mode in NEVER_ASK:
        reason = f"{_mode_reason(mode, subject)}, and this mode never asks"
        return Verdict(Effect.DENY, reason, f"mode:{mode}", hint=hint)
    return Verdict(Effect.ASK, _mode_reason(mode, subject), f"mode:{mode}", hint=hint)


def _runs_without_asking(mode: Mode, subject: PolicyInput) -> bool:
    if subject.risk is Risk.SAFE and (subject.reads_only or subject.changes_only_session):
        return True
    if subject.footprint.command is not None:
        return _command_runs_without_asking(mode, subject)
    match mode:
        case Mode.BYPASS:
            return True
        case Mode.ACCEPT_EDITS | Mode.SANDBOXED:
            return subject.edits_files
        case Mode.AUTO_SAFE | Mode.STRICT:
            return subject.risk < Risk.DANGEROUS
        case _:
            return False


def _command_runs_without_asking(mode: Mode, subject: PolicyInput) -> bool:
    """Commands run without asking only inside the sandbox: the text of a command is not a boundary."""
    match mode:
        case Mode.BYPASS | Mode.SANDBOXED:
            return subject.confined
        case Mode.AUTO_SAFE | Mode.STRICT:
            return subject.confined and subject.risk < Risk.DANGEROUS
        case _:
            return False


def _mode_reason(mode: Mode, subject: PolicyInput) -> str:
    analysis = subject.footprint.command
    if analysis is None:
        return _tool_reason(mode, subject)
    if _lacks_sandbox(mode, subject):
        return describe_gap(subject.unenforced)
    from handrail.core.commands import CommandClass

    if analysis.writes_nothing and analysis.reasons:
        return (
            f"it {analysis.reasons[0].text}, and the mode {mode} asks before programs are started"
        )
    why = f": {analysis.reasons[0].text}" if analysis.reasons else ""
    if analysis.safety_class is CommandClass.DEV:
        return f"the command needs approval in this mode{why}"
    return f"the command is {analysis.safety_class.word}{why}"


def _lacks_sandbox(mode: Mode, subject: PolicyInput) -> bool:
    """Whether the command would run without asking if the sandbox confined it."""
    if subject.footprint.command is None or subject.confined:
        return False
    return _command_runs_without_asking(mode, subject._replace(confined=True))


def _tool_reason(mode: Mode, subject: PolicyInput) -> str:
    name = tool_name(subject.tool)
    if mode in NEVER_ASK:
        does = "changes files" if subject.edits_files else f"is {subject.risk.word}"
        return f"{name} {does}"
    if mode is Mode.AUTO_SAFE:
        return f"the mode {mode} asks before {name}, which is {subject.risk.word}"
    what = f"{name}, which changes something"
    if subject.edits_files:
        what = "files are changed"
    elif any(touch.key.startswith("net:") for touch in subject.footprint.touches):
        what = f"{name}, which sends a request to another host"
    elif subject.footprint.open_ended:
        what = f"{name}, which may change anything"
    return f"the mode {mode} asks before {what}"


def _suggest_mode(subject: PolicyInput, *, asks: bool = True) -> str | None:
    """A hint with the narrowest mode that runs the call without asking, None if there is none. Bypass is
    never suggested. `asks` False: an approver is not suggested either.
    """
    for mode in (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.SANDBOXED, Mode.AUTO_SAFE):
        if _runs_without_asking(mode, subject):
            otherwise = ", or give an approver" if asks else ""
            hint = f"allow it with --mode {mode} (mode={mode.value!r}){otherwise}"
            return f"{hint}; {messages.STATE_EFFECTS}" if _states_nothing(subject) else hint
    return None


def _states_nothing(subject: PolicyInput) -> bool:
    """Whether the user is asked because a user-defined tool does not declare its effects."""
    from handrail.tools.builtin import BUILTIN_NAMES

    if not subject.footprint.open_ended or subject.command is not None or subject.plan is not None:
        return False
    return subject.tool not in BUILTIN_NAMES and not subject.tool.startswith(MCP_PREFIX)


_ALLOWED: Final = {
    mode: Verdict(Effect.ALLOW, "nothing restricts it", f"mode:{mode}") for mode in Mode
}
