"""The guard over commands: the blocklist, the allow list, and refusal of dangerous commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from handrail.core.commands import CommandAnalysis, CommandClass, Reason
from handrail.core.verdicts import Effect, Verdict
from handrail.policy import messages
from handrail.policy.policy_input import PolicyInput
from handrail.shell.classify.allowlist import allowlist_refusals

CommandListPolicy = Literal["classify", "allowlist", "blocklist"]

_LAST_RESORT: Final = "no mode or setting allows it; the user can run it outside Handrail"


class CommandGuard:
    """Refuses commands; asking and allowing are left to the rules and the mode.

    `policy` "allowlist": the first word of every command must be in `allowed`. `allowed_only`:
    dangerous commands are refused without asking. `enabled` False: every command is refused.
    """

    # It looks at commands only, and a call that runs one never takes the way of safe reads.
    ignores_reads: Final = True

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
        analysis = subject.command
        if analysis is None:
            return None
        if not self._enabled:
            return Verdict.from_template(Effect.DENY, messages.COMMANDS_OFF, "commands:off")
        if analysis.safety_class is CommandClass.BLOCKED:
            return _blocked_verdict(analysis)
        return self._unlisted(analysis) or self._too_dangerous(analysis)

    def _unlisted(self, analysis: CommandAnalysis) -> Verdict | None:
        if self._policy != "allowlist":
            return None
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
        if not self._allowed_only or analysis.safety_class < CommandClass.DANGEROUS:
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
