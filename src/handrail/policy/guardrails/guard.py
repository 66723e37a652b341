"""The guard of a session's guardrails: one verdict on a call and its plan.

The guard only denies or asks. No tool call can change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Effect, Verdict
from handrail.policy import messages
from handrail.policy.guardrails.limits import Ledger, QuotaOutcome
from handrail.policy.guardrails.settings import FilePattern, GuardrailSettings
from handrail.policy.policy_input import PolicyInput
from handrail.policy.protected_names import Guard
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule import Rule, RuleOrigin, RuleSource, short_place
from handrail.policy.rules.rule_set import RuleSet

if TYPE_CHECKING:
    from handrail.policy.guardrails.code_checks import CodeChecker, CodeFault
    from handrail.policy.guardrails.command_checks import BlockedCommands, BlockedMatch, GitSafety
    from handrail.policy.guardrails.gates import GateResult, Runner
    from handrail.policy.rules.command_pattern import CommandPattern

RuleSets = Callable[[Sequence[Rule], PathBase], RuleSet]
# Commands that publish changes; they need a successful test run if tests are required.
_FINAL: Final = ("git commit:*", "git push:*", "gh pr create:*")


class Guardrails:
    """Evaluates calls as a `Guard`, counts what calls changed, and warns.

    `rule_set` builds the rules about files; a builder that knows what the sandbox enforces needs
    fewer approvals.
    """

    def __init__(
        self,
        settings: GuardrailSettings,
        path_base: PathBase,
        rule_set: RuleSets = RuleSet,
    ) -> None:
        self.settings = settings
        self._path_base = path_base
        self.ledger = Ledger(settings.limits, path_base.roots, path_base.resolve)
        protected = [_rule(RuleFamily.WRITE, "protected_files", one) for one in settings.protected]
        unread = [_rule(RuleFamily.READ, "sensitive_files", one) for one in settings.sensitive]
        unwritten = [_rule(RuleFamily.WRITE, "sensitive_files", one) for one in settings.sensitive]
        self._files = rule_set([*protected, *unread, *unwritten], path_base)
        # For commands, the rules about reading suffice: the paths that a command writes count as read,
        # and it cannot write a hidden path.
        self._of_commands = rule_set([*protected, *unread], path_base)
        self._names = {
            rule.name: f"guardrail:{rule.tool}:{rule.pattern}" for rule in self._files.rules
        }
        self.ignores_reads = self._files.ignores_reads
        # Whether `reserve` and `settle` have anything to count.
        limited = any(one is not None for one in settings.limits)
        self.counts = limited or settings.commands.tested
        steps: dict[Guard, bool] = {
            self._by_files: bool(self._names),
            self._by_expressions: bool(settings.commands.blocked),
            self._by_git_safety: settings.commands.git_safety,
            self._by_tests: settings.commands.tested,
            self.ledger.check: limited,
            self._by_code: any(one.blocks for one in settings.code)
            or settings.omissions == "block",
        }
        # Whether `warnings` can return anything.
        self.warns = (
            settings.commands.tested
            or settings.omissions == "warn"
            or not all(one.blocks for one in settings.code)
        )
        self._steps = tuple(step for step, used in steps.items() if used)

    # The checks of commands and of text are built when they are first needed.

    @cached_property
    def _blocked(self) -> BlockedCommands:
        from handrail.policy.guardrails.command_checks import BlockedCommands

        return BlockedCommands(self.settings.commands.blocked)

    @cached_property
    def _git(self) -> GitSafety:
        from handrail.policy.guardrails.command_checks import GitSafety

        return GitSafety()

    @cached_property
    def _blocking(self) -> CodeChecker:
        return self._code_checker("block")

    @cached_property
    def _warning(self) -> CodeChecker:
        return self._code_checker("warn")

    def _code_checker(self, word: Literal["block", "warn"]) -> CodeChecker:
        from handrail.policy.guardrails.code_checks import CodeChecker

        rules = [rule for rule in self.settings.code if rule.blocks is (word == "block")]
        omissions = word if self.settings.omissions == word else "off"
        return CodeChecker(rules, omissions, self._path_base)

    @cached_property
    def _final(self) -> list[CommandPattern]:
        from handrail.policy.rules.command_pattern import parse_command_pattern

        return [parse_command_pattern(text) for text in _FINAL]

    def __call__(self, subject: PolicyInput) -> Verdict | None:
        """The strictest verdict; None if no guardrail concerns the call."""
        if subject.footprint.command is None and subject.reads_only:
            return None if self.ignores_reads else self._by_files(subject)
        asked: Verdict | None = None
        for step in self._steps:
            opinion = step(subject)
            if opinion is not None:
                if opinion.effect is Effect.DENY:
                    return opinion
                asked = asked or opinion
        return asked

    @property
    def denied_reads(self) -> tuple[FilePattern, ...]:
        """The patterns that the sandbox and searches must hide, each with its place."""
        return self.settings.sensitive

    @property
    def denied_writes(self) -> tuple[Rule, ...]:
        """The rules whose paths the sandbox must keep read-only for commands."""
        return tuple(rule for rule in self._of_commands.rules if rule.family is RuleFamily.WRITE)

    def reserve(
        self, call_id: str, subject: PolicyInput, *, counted: bool = True
    ) -> Verdict | None:
        """Reserve what an allowed call will use of the limits; DENY if a limit would be exceeded."""
        return self.ledger.reserve(call_id, subject, counted=counted) if self.counts else None

    def settle(self, call_id: str, ended: QuotaOutcome) -> None:
        """Release the reservation of a finished call and count what happened."""
        if self.counts:
            self.ledger.settle(call_id, ended)

    def warnings(self, subject: PolicyInput) -> list[str]:
        """Warnings about a change that was carried out."""
        if not self.warns:
            return []
        texts = [f"guardrail: {one.reason}" for one in _faults(self._warning, subject)]
        changes = subject.plan is not None and subject.plan.changes
        if self.settings.commands.tested and changes and not self.ledger.untested:
            texts.append("guardrail: these changes count as untested until tests have passed")
        return texts

    async def run_quality_gates(self, runner: Runner) -> list[GateResult]:
        """Run the gates of the settings; required tests are an additional gate."""
        from handrail.policy.guardrails.gates import run_quality_gates

        tested = self.settings.commands.tested
        untested = (lambda: self.ledger.untested) if tested else None
        return await run_quality_gates(self.settings.gates, runner, untested=untested)

    def _by_files(self, subject: PolicyInput) -> Verdict | None:
        rules = self._files if subject.footprint.command is None else self._of_commands
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

    def _by_expressions(self, subject: PolicyInput) -> Verdict | None:
        hit = (
            None
            if subject.footprint.command is None
            else self._blocked.find(subject.footprint.command)
        )
        return None if hit is None else _met(hit)

    def _by_git_safety(self, subject: PolicyInput) -> Verdict | None:
        careful = (
            None if subject.footprint.command is None else self._git.find(subject.footprint.command)
        )
        if careful is None:
            return None
        rule, reason = careful
        template = messages.GIT_SAFETY
        return Verdict.from_template(
            Effect.ASK, template, f"guardrail:git_safety:{rule}", reason=reason
        )

    def _by_tests(self, subject: PolicyInput) -> Verdict | None:
        from handrail.policy.rules.command_pattern import MatchCertainty, match_words

        if subject.footprint.command is None or not self.ledger.untested:
            return None
        fits = [
            fit
            for part in subject.footprint.command.parts
            for pattern in self._final
            if (fit := match_words(pattern, part.words)) is not MatchCertainty.NO
        ]
        if not fits:
            return None
        count, sure = len(self.ledger.untested), MatchCertainty.SURE in fits
        verdict = Verdict.from_template(
            Effect.DENY if sure else Effect.ASK,
            messages.UNTESTED_CHANGES,
            "guardrail:require_test_after_edit:commit",
            files=_files(count),
        )
        return replace(verdict, code="blocked") if sure else verdict

    def _by_code(self, subject: PolicyInput) -> Verdict | None:
        return next(map(_broken, _faults(self._blocking, subject)), None)


def _files(count: int) -> str:
    return "1 changed file is" if count == 1 else f"{count} changed files are"


def _faults(code: CodeChecker, subject: PolicyInput) -> Iterable[CodeFault]:
    if not code.active or subject.traits.reverts_changes:
        # An undo restores text that was in the files before.
        return ()
    command = subject.footprint.command
    if command is not None:
        writes = command.effects.writes or any(part.writes for part in command.parts)
        return code.of_command(command) if writes else ()
    return code.of_plan(subject.plan) if subject.plan is not None else ()


def _rule(family: RuleFamily, key: str, pattern: FilePattern) -> Rule:
    origin = RuleOrigin(RuleSource.USER, pattern.place)
    text = f"{key}({pattern.text})"
    traits = ToolTraits(family)
    return Rule(Effect.DENY, key, pattern.text, text, origin, traits=traits)


def _met(hit: BlockedMatch) -> Verdict:
    pattern = hit.expression.text
    rule = f"guardrail:blocked_commands:{pattern}"
    if not hit.sure:
        template = messages.POSSIBLY_BLOCKED_COMMAND
        return Verdict.from_template(Effect.ASK, template, rule, pattern=pattern)
    return Verdict.from_template(
        Effect.DENY,
        messages.BLOCKED_COMMAND,
        rule,
        part=hit.part if len(hit.part) <= 200 else f"{hit.part[:200]}…",
        pattern=pattern,
        place=short_place(hit.expression.place),
    )


def _broken(fault: CodeFault) -> Verdict:
    return Verdict(
        Effect.DENY,
        f"Guardrail: {fault.reason}",
        f"guardrail:{fault.rule}",
        code="blocked",
        hint=fault.hint,
    )
