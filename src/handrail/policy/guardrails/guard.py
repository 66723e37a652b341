"""The guard over all guardrails of a session: one opinion on a call and its plan.

It only ever forbids or asks. Nothing that a model can call changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from handrail.core.commands import Judgement
from handrail.core.verdicts import Effect, Verdict, strictest
from handrail.policy.command_pattern import Fit, parse_command_pattern, speaks_of
from handrail.policy.guardrails.code import CodeRails, Fault
from handrail.policy.guardrails.commands import BlockedCommands, Hit
from handrail.policy.guardrails.gates import GateResult, Runner, run_quality_gates
from handrail.policy.guardrails.git_safety import GitSafety
from handrail.policy.guardrails.limits import Ended, Ledger
from handrail.policy.guardrails.settings import FilePattern, GuardrailSettings
from handrail.policy.path_pattern import Grounds
from handrail.policy.rule_set import RuleSet
from handrail.policy.rules import Origin, Rule, Source
from handrail.policy.subject import Subject

RuleSets = Callable[[Sequence[Rule], Grounds], RuleSet]
# What makes changes final; it waits for tests where they are required.
_FINAL: Final = ("git commit:*", "git push:*", "gh pr create:*")
_UNTESTED: Final = "run the tests as a command of their own (no pipe, nothing behind them)"


class Guardrails:
    """Judges calls as a `Guard`, counts what happened, and warns.

    `rule_set` makes the rules about files; one that knows what keeps sensitive files away by
    itself asks less.
    """

    def __init__(
        self,
        settings: GuardrailSettings,
        grounds: Grounds,
        rule_set: RuleSets = RuleSet,
    ) -> None:
        self.settings = settings
        self.ledger = Ledger(settings.limits, grounds.roots, grounds.resolve)
        protected = [_rule("edit_file", "protected_files", one) for one in settings.protected]
        unread = [_rule("read_file", "sensitive_files", one) for one in settings.sensitive]
        unwritten = [_rule("edit_file", "sensitive_files", one) for one in settings.sensitive]
        self._files = rule_set([*protected, *unread, *unwritten], grounds)
        # What a command is known to write counts as read as well, and what is hidden from it
        # is closed to it: one rule says both.
        self._of_commands = rule_set([*protected, *unread], grounds)
        self._names = {rule.name: f"guardrail:{_kind(rule)}" for rule in self._files.rules}
        self._blocked = BlockedCommands(settings.commands.blocked)
        self._git = GitSafety() if settings.commands.git_safety else None
        self._code = CodeRails(settings.code, settings.omissions, grounds)
        self._final = [parse_command_pattern(text) for text in _FINAL]
        self.ignores_reads = self._files.ignores_reads
        # Whether calls must be reserved and settled at all.
        limited = any(one is not None for one in settings.limits)
        self.counts = limited or settings.commands.tested

    def __call__(self, subject: Subject) -> Verdict | None:
        """The strictest opinion; None if no guardrail speaks of the call."""
        if subject.command is None and subject.reads_only:
            return None if self.ignores_reads else self._by_files(subject)
        opinions: list[Verdict] = []
        for opinion in self._opinions(subject):
            if opinion.effect is Effect.DENY:
                return opinion
            opinions.append(opinion)
        return strictest(opinions) if opinions else None

    @property
    def denied_reads(self) -> tuple[FilePattern, ...]:
        """What the sandbox and the search must keep away, each with its place."""
        return self.settings.sensitive

    def reserve(self, call_id: str, subject: Subject, *, counted: bool = True) -> Verdict | None:
        """Hold what a cleared call will use of the limits; DENY if it is too much by now."""
        return self.ledger.reserve(call_id, subject, counted=counted) if self.counts else None

    def settle(self, call_id: str, ended: Ended) -> None:
        """The call is over, and how."""
        if self.counts:
            self.ledger.settle(call_id, ended)

    def warnings(self, subject: Subject) -> list[str]:
        """What is to be said about a change that happened nevertheless."""
        told = [f"guardrail: {one.reason}" for one in self._faults(subject) if not one.blocks]
        changes = subject.plan is not None and subject.plan.changes
        if self.settings.commands.tested and changes and not self.ledger.untested:
            told.append("guardrail: these changes count as untested until tests have passed")
        return told

    async def run_quality_gates(self, runner: Runner) -> list[GateResult]:
        """Run the gates of the settings; where tests are required, they are one more."""
        tested = self.settings.commands.tested
        untested = (lambda: self.ledger.untested) if tested else None
        return await run_quality_gates(self.settings.gates, runner, untested=untested)

    # --- opinions -----------------------------------------------------------------------

    def _opinions(self, subject: Subject) -> Iterator[Verdict]:
        found = self._by_files(subject)
        if found is not None:
            yield found
        if subject.command is not None:
            yield from self._by_command(subject.command)
        limited = self.ledger.check(subject)
        if limited is not None:
            yield limited
        for fault in self._faults(subject):
            if fault.blocks:
                yield _broken(fault)

    def _by_files(self, subject: Subject) -> Verdict | None:
        if not self._names:
            return None
        rules = self._files if subject.command is None else self._of_commands
        verdict = rules.judge(subject)
        if verdict is None:
            return None
        denied = verdict.effect is Effect.DENY
        return Verdict(
            verdict.effect,
            f"Guardrail: {verdict.reason}",
            self._names[verdict.rule],
            code="blocked" if denied else "denied",
            hint=verdict.hint,
        )

    def _by_command(self, judged: Judgement) -> Iterator[Verdict]:
        hit = self._blocked.find(judged) if self._blocked else None
        if hit is not None:
            yield _met(hit)
        careful = self._git.find(judged) if self._git is not None else None
        if careful is not None:
            rule, reason = careful
            yield Verdict(
                Effect.ASK,
                f"Guardrail: {reason}",
                f"guardrail:git_safety:{rule}",
                hint="do it another way, or leave it to the person; they are asked each time",
            )
        if self.settings.commands.tested and self.ledger.untested:
            yield from self._untested(judged)

    def _untested(self, judged: Judgement) -> Iterator[Verdict]:
        fits = [
            fit
            for part in judged.parts
            for pattern in self._final
            if (fit := speaks_of(pattern, part.words)) is not Fit.NO
        ]
        if fits:
            count = len(self.ledger.untested)
            yield Verdict(
                Effect.DENY if Fit.SURE in fits else Effect.ASK,
                f"Guardrail: {count} changed files are untested, and require_test_after_edit holds",
                "guardrail:require_test_after_edit:commit",
                code="blocked" if Fit.SURE in fits else "denied",
                hint=_UNTESTED,
            )

    def _faults(self, subject: Subject) -> Iterable[Fault]:
        if not self._code:
            return ()
        if subject.command is not None:
            return self._code.of_command(subject.command)
        return self._code.of_plan(subject.plan) if subject.plan is not None else ()


def _rule(tool: str, key: str, pattern: FilePattern) -> Rule:
    origin = Origin(Source.USER, pattern.place)
    return Rule(Effect.DENY, tool, pattern.text, f"{key}({pattern.text})", origin)


def _kind(rule: Rule) -> str:
    return f"{rule.spelled.partition('(')[0]}:{rule.pattern}"


def _met(hit: Hit) -> Verdict:
    text = hit.expression.text
    if not hit.sure:
        return Verdict(
            Effect.ASK,
            f"Guardrail: the command cannot be read in full, and may be what {text!r} blocks",
            f"guardrail:blocked_commands:{text}",
            hint="write the words of the command plainly",
        )
    shown = hit.part if len(hit.part) <= 200 else f"{hit.part[:200]}…"
    return Verdict(
        Effect.DENY,
        f"Guardrail: {shown!r} is what blocked_commands forbids with {text!r}",
        f"guardrail:blocked_commands:{text}",
        code="blocked",
        hint=f"leave it; only a person can change {hit.expression.place}",
    )


def _broken(fault: Fault) -> Verdict:
    return Verdict(
        Effect.DENY,
        f"Guardrail: {fault.reason}",
        f"guardrail:{fault.rule}",
        code="blocked",
        hint=fault.hint,
    )
