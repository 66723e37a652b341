"""The guards over commands: the blocklist, the allow list, refusal of dangerous commands, and
approval for commands outside the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from handrail.core.commands import CommandAnalysis, CommandClass, Reason
from handrail.core.ports.processes import Strength
from handrail.core.verdicts import Effect, Verdict
from handrail.policy import messages
from handrail.policy.confinement import REQUIRED_FOR_AUTO_RUN
from handrail.policy.policy_input import PolicyInput
from handrail.shell.classify.allowlist import allowlist_refusals

# The strengths that count as enforced.
_EFFECTIVE: Final = (Strength.ENFORCED, Strength.REPAIRED)

Measured = Callable[[], Mapping[str, Strength]]
CommandListPolicy = Literal["classify", "allowlist", "blocklist"]

_LAST_RESORT: Final = "no mode or setting allows it; the user can run it outside Handrail"


class CommandGuard:
    """Refuses commands; it never asks or allows, which is left to the rules and the mode.


    `policy` "allowlist": the first word of every command must be in `allowed`. `allowed_only`:
    dangerous commands are refused without asking. `enabled` False: every command is refused.
    """

    ignores_reads: Final = True
    only_commands: Final = True

    def __init__(
        self,
        policy: CommandListPolicy = "classify",
        allowed: Sequence[str] = (),
        *,
        allowed_only: bool = False,
        enabled: bool = True,
    ) -> None:
        self._policy = policy
        self._allowed = frozenset(allowed)
        self._allowed_only = allowed_only
        self._enabled = enabled

    def __call__(self, subject: PolicyInput) -> Verdict | None:
        """DENY for a command that may not run; else no opinion."""
        analysis = subject.footprint.command
        if analysis is None:
            return None
        if not self._enabled:
            return Verdict.from_template(Effect.DENY, messages.COMMANDS_OFF, "commands:off")
        if analysis.safety_class is CommandClass.BLOCKED:
            return _blocked_verdict(analysis)
        verdict = self._unlisted(analysis) if self._policy == "allowlist" else None
        if verdict is None and self._allowed_only:
            verdict = self._too_dangerous(analysis)
        return verdict

    def _unlisted(self, analysis: CommandAnalysis) -> Verdict | None:
        reasons = allowlist_refusals(analysis.segments, self._allowed)
        if not reasons:
            return None
        listed = ", ".join(sorted(self._allowed)) or "nothing"
        return Verdict.from_template(
            Effect.DENY,
            messages.COMMAND_NOT_LISTED,
            "commands:allowlist",
            reason=_reason_text(reasons[0]),
            listed=listed,
        )

    def _too_dangerous(self, analysis: CommandAnalysis) -> Verdict | None:
        if analysis.safety_class < CommandClass.DANGEROUS:
            return None
        why = (
            _reason_text(analysis.reasons[0])
            if analysis.reasons
            else "it is not known to be harmless"
        )
        return Verdict.from_template(
            Effect.DENY,
            messages.COMMAND_TOO_DANGEROUS,
            "commands:allowed_only",
            word=analysis.safety_class.word,
            reason=why,
        )


def unenforced_properties(measured: Mapping[str, Strength]) -> tuple[str, ...]:
    """The properties that are missing for commands to run without approval."""
    return tuple(name for name in REQUIRED_FOR_AUTO_RUN if measured.get(name) not in _EFFECTIVE)


def sandbox_confines_commands(measured: Mapping[str, Strength]) -> bool:
    """Whether commands may run without approval in the modes that allow it."""
    return not unenforced_properties(measured)


class SandboxGuard:
    """Refuses commands where a required sandbox property is missing, and asks in every mode before
    a command runs outside the sandbox.
    """

    ignores_reads: Final = True
    only_commands: Final = True

    def __init__(self, required: Sequence[str], measured: Measured) -> None:
        self._required = tuple(required)
        self._measured = measured

    def __call__(self, subject: PolicyInput) -> Verdict | None:
        """DENY or ASK for a command; else no opinion."""
        analysis = subject.footprint.command
        if analysis is None:
            return None
        if self._required:
            measured = self._measured()
            missing = [name for name in self._required if measured.get(name) not in _EFFECTIVE]
            if missing or analysis.unconfined:
                listed = ", ".join(missing)
                return Verdict.from_template(
                    Effect.DENY,
                    messages.SANDBOX_REQUIRED,
                    "commands:require",
                    required=", ".join(self._required),
                    reason=f"the sandbox on this machine does not enforce {listed}"
                    if missing
                    else "the command would run outside the sandbox",
                )
        if analysis.unconfined:
            return Verdict.from_template(
                Effect.ASK, messages.UNCONFINED_COMMAND, "commands:unconfined"
            )
        return None


def _blocked_verdict(analysis: CommandAnalysis) -> Verdict:
    reason = analysis.reasons[0] if analysis.reasons else Reason("it is a catastrophe", "")
    what, _, instead = reason.text.partition("; ")
    return Verdict.from_template(
        Effect.DENY,
        messages.COMMAND_BLOCKED,
        "commands:blocklist",
        reason=_reason_text(Reason(what, reason.part)),
        advice=f"{instead}; {_LAST_RESORT}" if instead else _LAST_RESORT,
    )


def _reason_text(reason: Reason) -> str:
    return f"{reason.text}, in {reason.part!r}" if reason.part else reason.text
